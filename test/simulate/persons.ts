/** Persons who look at the list of what needs them, find out at the service what is true, and decide. */

import { JournalError } from '../../src/index.ts';
import type { AttentionItem, Resolution } from '../../src/journal/index.ts';
import { describe, wasPaid } from './facts.ts';
import { statusOf } from './service.ts';
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
    const resolutionsSeen = entry.resolutions.length;
    if (resolution) await decide(world, process, seen, resolution, { by, resolutionsSeen });
  }
  if (world.swarm.happens('person: decides again', 0.3)) await decideAgain(world, process, by);
  if (world.swarm.happens('person: adds a transaction', 0.2)) await addTransaction(world, process, by);
}

const sleep = (delay: number) => new Promise<void>((resolve) => void setTimeout(resolve, delay));

/** What a person decides who knows what the service knows. */
function choose(
  world: World,
  { key, order, reason, reference, requestIds }: AttentionItem,
): Resolution | undefined {
  const { service, random } = world;
  const charge = service.find(reference);
  switch (reason) {
    case 'unresolved': {
      if (charge && charge.order === (order ?? key)) return { reference: charge.reference };
      const posts = service.posts.filter((post) => requestIds.includes(post.requestId));
      const made = posts.find((post) => service.find(post.reference) && !isHeld(world, post.reference));
      if (made?.reference) return { reference: made.reference };
      const isUnderWay = posts.some(({ sentAt }) => world.clock.now - sentAt < ARRIVES_WITHIN);
      if (!isUnderWay) return 'not_charged';
      if (!world.swarm.happens('person: errs', 0.2)) return undefined;
      world.facts.misjudged.add(order ?? key);
      return 'not_charged';
    }
    case 'shared_reference':
    case 'paid_twice':
      return 'closed';
    case 'price_changed':
      return random.pick(['accepted', 'closed'] as const);
    case 'mismatch':
      return charge && statusOf(charge) === 'success'
        ? random.pick(['accepted', 'closed'] as const)
        : undefined;
    case 'gone':
      return charge ? undefined : 'closed';
    default:
      return undefined;
  }
}

const isHeld = ({ facts }: World, reference = '') =>
  facts.isDecided(reference) || [...facts.delivered.values()].some((paid) => paid.reference === reference);

async function decide(
  world: World,
  process: Process,
  item: Pick<AttentionItem, 'key' | 'reason' | 'reference' | 'order'>,
  resolution: Resolution,
  { by, resolutionsSeen }: { by: string; resolutionsSeen?: number },
): Promise<void> {
  const { key, reason, reference } = item;
  const { facts } = world;
  const note = { by, reason: 'looked into it', resolutionsSeen };
  const shown = typeof resolution === 'string' ? resolution : resolution.reference;
  world.say(`${process.name}: ${by} resolves ${key} (${reason}, ${reference ?? '-'}): ${shown}`);
  world.count(`resolved: ${reason} ${typeof resolution === 'string' ? resolution : 'reference'}`);
  // From the moment at which it might be written.
  const isDealtWith = resolution === 'closed' && reference !== undefined && reason !== 'shared_reference';
  if (resolution === 'accepted' && reference) facts.accepted.add(reference);
  if (isDealtWith) facts.decide(reference, 1);
  try {
    const entry = await process.payments.resolve(key, resolution, note);
    world.say(`${process.name}: ${key} is resolved by ${by}: ${entry.state} ${entry.reference ?? '-'}`);
    if (resolution === 'accepted' && reference) facts.undecide(reference);
    world.judge('resolved', { entry, resolution });
  } catch (error) {
    world.say(`${process.name}: ${key} is not resolved: ${describe(error)}`);
    // A refusal changed nothing, so the money still has to be accounted for.
    const isRefusal = error instanceof JournalError && !error.retryable;
    if (isDealtWith && isRefusal) facts.decide(reference, -1);
    // It is another order's: nothing of this one is left to find.
    const isOthers = isRefusal && /belongs to|a charge exists/.test(error.message);
    if (isOthers && reason === 'unresolved')
      await decide(world, process, { ...item, reason: 'shared_reference' }, 'closed', { by });
  }
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
      (item) => item.order === order && !known.has(item.reference) && !isHeld(world, item.reference),
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
