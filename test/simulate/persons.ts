/** Persons who look at the list of what needs them, find out at the service what is true, and decide. */

import { JournalError } from '../../src/index.ts';
import type { AttentionItem, Resolution } from '../../src/stores/index.ts';
import { describe, type Facts } from './facts.ts';
import { statusOf, wasPaid } from './service.ts';
import type { Process } from './shop.ts';
import type { World } from './world.ts';

/** So long after it left, no request arrives any more, in milliseconds. */
const ARRIVES_WITHIN = 60_000;

/** One person goes through the list. `thinks`: for how long at most before each decision, in milliseconds. */
export async function review(world: World, process: Process, by: string, thinks: number): Promise<void> {
  const items: AttentionItem[] = [];
  for await (const item of process.journal.listAttention()) items.push(item);
  for (const item of items) {
    world.count(`listed: ${item.reason}`);
    const entry = await process.journal.read(item.key);
    // Another person might have decided.
    if (entry?.attention !== item.reason) continue;
    if (thinks > 0) await sleep(world.random.between(0, thinks));
    const seen = { ...item, reference: entry.reference, requestIds: entry.requestIds };
    const resolution = choose(world, seen);
    const { revision } = entry;
    if (resolution) await decide(world, process, seen, resolution, { by, revision });
  }
  if (world.swarm.happens('person: decides again')) await decideAgain(world, process, by);
  if (world.swarm.happens('person: adds a transaction')) await addTransaction(world, process, by);
}

const sleep = (delay: number) => new Promise<void>((resolve) => void setTimeout(resolve, delay));

/** What a person decides who knows what the service knows. */
function choose(world: World, item: AttentionItem): Resolution | undefined {
  const charge = world.service.findKnown(item.reference);
  switch (item.reason) {
    case 'unresolved':
      return findOut(world, item);
    case 'shared_reference':
    case 'paid_twice':
      return 'closed';
    case 'price_changed':
      return world.random.pick(['accepted', 'closed'] as const);
    case 'mismatch':
      if (!charge) return 'closed';
      return statusOf(charge) === 'success' ? world.random.pick(['accepted', 'closed'] as const) : undefined;
    case 'gone':
      return charge ? undefined : 'closed';
    case 'unreadable':
    case 'overdue':
      // Some persons wait.
      return world.random.chance(0.7) ? 'closed' : undefined;
    default:
      return undefined;
  }
}

/** Whether a charge exists: the service finds it by the request ids. */
function findOut(world: World, { key, order, reference, requestIds }: AttentionItem): Resolution | undefined {
  const { service, network, facts, clock, swarm } = world;
  const name = order ?? key;
  const charge = service.findKnown(reference);
  if (charge?.order === name) return { reference: charge.reference };
  const posts = network.posts.filter((post) => requestIds.includes(post.requestId));
  if (posts.length > 0 && swarm.happens('person: errs')) {
    facts.misjudged.add(name);
    return 'not_charged';
  }
  const made = findMade(world, requestIds);
  if (made !== undefined) return { reference: made };
  // What pays another order does not pay this one.
  for (const post of posts) facts.heldElsewhere.add(`${name} ${post.reference}`);
  const isUnderWay = posts.some(({ sentAt }) => clock.now - sentAt < ARRIVES_WITHIN);
  return isUnderWay ? undefined : 'not_charged';
}

/** The transaction that requests have made, other than one that is another payment's. */
const findMade = ({ network, service, facts }: World, requestIds: readonly string[], other?: string) =>
  network.posts.find(
    ({ requestId, reference }) =>
      requestIds.includes(requestId) &&
      reference !== other &&
      service.findKnown(reference) &&
      !isHeld(facts, reference),
  )?.reference;

const isHeld = (facts: Facts, reference = '') =>
  facts.isDecided(reference) ||
  // The shop's books have it still, although the record is deleted.
  facts.isForgotten(reference) ||
  [...facts.delivered.values()].some((paid) => paid.reference === reference);

type Decided = Pick<AttentionItem, 'key' | 'order' | 'reason' | 'reference'> &
  Partial<Pick<AttentionItem, 'requestIds'>>;

interface Person {
  readonly by: string;
  readonly revision?: string;
}

async function decide(
  world: World,
  process: Process,
  item: Decided,
  resolution: Resolution,
  person: Person,
): Promise<void> {
  const { key, reason, reference = '-', requestIds = [] } = item;
  const isWord = typeof resolution === 'string';
  world.say(
    `${process.name}: ${person.by} resolves ${key} (${reason}, ${reference}): ${isWord ? resolution : resolution.reference}`,
  );
  world.count(`resolved: ${reason} ${isWord ? resolution : 'reference'}`);
  const undo = expectDecision(world, item, resolution);
  try {
    const entry = await process.payments.resolve(key, resolution, { ...person, reason: 'looked into it' });
    world.say(
      `${process.name}: ${key} is resolved by ${person.by}: ${entry.state} ${entry.reference ?? '-'}`,
    );
    if (resolution === 'accepted') world.facts.undecide(reference);
    world.judge('resolved', { entry, resolution });
  } catch (error) {
    world.say(`${process.name}: ${key} is not resolved: ${describe(error)}`);
    // What the journal did not answer might have been recorded.
    if (!(error instanceof JournalError) || error.retryable) return;
    undo();
    if (reason !== 'unresolved' || !/belongs to|is the transaction of|a charge exists/.test(error.message))
      return;
    // It is another payment's. What the requests of this one have made was named nowhere, or there is nothing left to find.
    const found = isWord ? reference : resolution.reference;
    const made = findMade(world, requestIds, found);
    const { by } = person;
    if (made !== undefined)
      return await decide(world, process, { ...item, requestIds: [] }, { reference: made }, { by });
    const isOthers = { ...item, reason: 'shared_reference', reference: found } as const;
    await decide(world, process, isOthers, 'closed', { by });
  }
}

/** From here on, the decision might hold. Returns what takes that back: a refusal changed nothing. */
function expectDecision({ facts }: World, item: Decided, resolution: Resolution): () => void {
  const { key, order = key, reason, reference } = item;
  if (reference === undefined) return () => {};
  if (resolution === 'accepted') facts.accepted.add(reference);
  if (resolution !== 'closed') return () => {};
  if (reason === 'shared_reference') {
    facts.heldElsewhere.add(`${order} ${reference}`);
    return () => {};
  }
  facts.decide(reference, 1);
  return () => facts.decide(reference, -1);
}

/** What was closed is accepted after all: it is not paid back. */
async function decideAgain(world: World, process: Process, by: string): Promise<void> {
  for await (const { key, reference } of process.journal.list({ state: 'completed', limit: 20 })) {
    const charge = world.service.find(reference);
    const isOrder = charge && world.orders.includes(charge.order);
    if (!isOrder || !wasPaid(charge) || !world.facts.isDecided(charge.reference)) continue;
    return await decide(
      world,
      process,
      { key, reason: 'price_changed', reference, order: charge.order },
      'accepted',
      { by },
    );
  }
}

/** A transaction that the service has and the shop does not know is added to its order. */
async function addTransaction(world: World, process: Process, by: string): Promise<void> {
  for (const order of world.orders) {
    const { payments, state } = await process.orders.read(order);
    if (state === 'in_review' || payments.length === 0) continue;
    const known = new Set(payments.map(({ reference }) => reference));
    const charge = world.service.charges.find(
      (item) => item.order === order && !known.has(item.reference) && !isHeld(world.facts, item.reference),
    );
    if (!charge) continue;
    const { reference } = charge;
    return await decide(
      world,
      process,
      { key: order, reason: 'unresolved', reference, order },
      { reference },
      { by },
    );
  }
}
