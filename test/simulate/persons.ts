/** A person who looks at the list of what needs one, finds out at the service what is true, and decides. */

import { JournalError } from '../../src/index.ts';
import type { AttentionItem, Resolution } from '../../src/stores/index.ts';
import { MINUTE } from './clock.ts';
import { hear } from './customers.ts';
import { describe } from './facts.ts';
import { isEnd, statusOf, wasPaid } from './service.ts';
import { type Process, sleep } from './shop.ts';
import type { World } from './world.ts';

/** So long after it left, no request arrives any more, in milliseconds. */
const ARRIVES_WITHIN = MINUTE;

type Item = Pick<AttentionItem, 'key' | 'order' | 'reason' | 'reference'> &
  Partial<Pick<AttentionItem, 'requestIds'>>;

export class Person {
  readonly #world: World;
  readonly #process: Process;
  readonly #name: string;

  constructor(world: World, process: Process, name: string) {
    this.#world = world;
    this.#process = process;
    this.#name = name;
  }

  /** Goes through the list. `thinks`: for how long at most before each decision, in milliseconds. */
  async review(thinks: number): Promise<void> {
    const { swarm, random, count, clock } = this.#world;
    const { journal, orders } = this.#process;
    const items: AttentionItem[] = [];
    for await (const item of journal.listAttention()) items.push(item);
    const { now } = clock;
    for await (const status of orders.listInReview()) hear(this.#world, 'the list', now, status);
    for (const item of items) {
      count(`listed: ${item.reason}`);
      const entry = await journal.read(item.key);
      // Another person might have decided.
      if (entry?.attention !== item.reason) continue;
      if (thinks > 0) await sleep(random.between(0, thinks));
      const { reference, requestIds, revision } = entry;
      const seen = { ...item, reference, requestIds };
      const resolution = this.#choose(seen);
      if (resolution) await this.#decide(seen, resolution, revision);
    }
    if (swarm.happens('person: decides again')) await this.#decideAgain();
    if (swarm.happens('person: adds a transaction')) await this.#addTransaction();
  }

  /** What a person decides who knows what the service knows. */
  #choose(item: AttentionItem): Resolution | undefined {
    const { service, random } = this.#world;
    const charge = service.findKnown(item.reference);
    const acceptOrClose = () => random.pick(['accepted', 'closed'] as const);
    switch (item.reason) {
      case 'unresolved':
        return this.#findOut(item);
      case 'shared_reference':
      case 'paid_twice':
        return 'closed';
      case 'price_changed':
        return acceptOrClose();
      case 'mismatch':
        if (!charge) return 'closed';
        // What is abandoned stays open if that is no final status of its payment.
        if (isEnd(statusOf(charge))) return 'closed';
        return statusOf(charge) === 'success' ? acceptOrClose() : undefined;
      case 'gone':
        return charge ? undefined : 'closed';
      case 'unreadable':
      case 'overdue':
        // Some persons wait.
        return random.chance(0.7) ? 'closed' : undefined;
      default:
        return undefined;
    }
  }

  /** Whether a charge exists: the service finds it by the request ids. */
  #findOut({ key, order = key, reference, requestIds }: AttentionItem): Resolution | undefined {
    const { service, network, facts, clock, swarm, random } = this.#world;
    const charge = service.findKnown(reference);
    if (charge?.order === order) return { reference: charge.reference };
    const posts = network.posts.filter((post) => requestIds.includes(post.requestId));
    if (posts.length > 0 && swarm.happens('person: errs')) {
      facts.misjudged.add(order);
      const [first] = service.charges.filter((made) => made.order === order);
      return first && random.chance(0.5) ? { reference: first.reference } : 'not_charged';
    }
    const made = this.#findMade(requestIds);
    if (made) return made;
    // What pays another order does not pay this one.
    for (const post of posts) facts.heldElsewhere.add(`${order} ${post.reference}`);
    const isUnderWay = posts.some(({ sentAt }) => clock.now - sentAt < ARRIVES_WITHIN);
    return isUnderWay ? undefined : 'not_charged';
  }

  /** The transaction that requests have made, other than one that is another payment's. */
  #findMade(requestIds: readonly string[], other?: string): { reference: string } | undefined {
    const { network, service, facts } = this.#world;
    for (const { requestId, reference } of network.posts)
      if (requestIds.includes(requestId) && reference !== other)
        if (reference && service.findKnown(reference) && !facts.isHeld(reference)) return { reference };
    return undefined;
  }

  async #decide(item: Item, resolution: Resolution, revision?: string): Promise<void> {
    const { say, count, judge, facts, random } = this.#world;
    const { name, payments, journal } = this.#process;
    const { key, reason, reference = '-' } = item;
    const named = typeof resolution === 'string' ? undefined : resolution.reference;
    say(`${name}: ${this.#name} resolves ${key} (${reason}, ${reference}): ${named ?? resolution}`);
    count(`resolved: ${reason} ${named ? 'reference' : resolution}`);
    const undo = this.#expectDecision(item, resolution);
    try {
      const note = { by: this.#name, revision, reason: 'looked into it' };
      // A migration does not ask the service.
      if (random.chance(0.2)) await journal.resolve(key, resolution, note);
      const entry = await payments.resolve(key, resolution, note);
      say(`${name}: ${key} is resolved by ${this.#name}: ${entry.state} ${entry.reference ?? '-'}`);
      if (resolution === 'accepted') facts.undecide(reference);
      judge('resolved', { entry, resolution, reason });
    } catch (error) {
      say(`${name}: ${key} is not resolved: ${describe(error)}`);
      // What the journal did not answer might have been recorded.
      if (!(error instanceof JournalError) || error.retryable) return;
      undo();
      const isOthers = /belongs to|is the transaction of|a charge exists/.test(error.message);
      if (reason === 'unresolved' && isOthers) await this.#decideOtherwise(item, named ?? reference);
    }
  }

  /** It is another payment's. What the requests of this one have made was named nowhere, or there is nothing left to find. */
  async #decideOtherwise(item: Item, found: string): Promise<void> {
    const made = this.#findMade(item.requestIds ?? [], found);
    if (made) await this.#decide({ ...item, requestIds: [] }, made);
    else await this.#decide({ ...item, reason: 'shared_reference', reference: found }, 'closed');
  }

  /** From here on, the decision might hold. Returns what takes that back: a refusal changed nothing. */
  #expectDecision({ key, order = key, reason, reference }: Item, resolution: Resolution): () => void {
    const { facts } = this.#world;
    if (reference !== undefined && resolution === 'accepted') facts.accepted.add(reference);
    if (reference === undefined || resolution !== 'closed') return () => {};
    if (reason !== 'shared_reference') return facts.decide(reference);
    facts.heldElsewhere.add(`${order} ${reference}`);
    return () => {};
  }

  /** What was closed is accepted after all: it is not paid back. What was named by mistake is closed, and another payment gets it. */
  async #decideAgain(): Promise<void> {
    const { service, orders, facts, random } = this.#world;
    for await (const { key, reference } of this.#process.journal.list({ state: 'completed', limit: 20 })) {
      const charge = service.find(reference);
      const item = { key, reference, order: charge?.order };
      if (facts.misjudged.has(`${item.order}`) && random.chance(0.3))
        return await this.#decide({ ...item, reason: 'overdue' }, 'closed');
      if (!charge || !orders.includes(charge.order) || !wasPaid(charge)) continue;
      if (facts.isDecided(charge.reference))
        return await this.#decide({ ...item, reason: 'price_changed' }, 'accepted');
    }
  }

  /** A transaction that the service has and the shop does not know is added to its order. */
  async #addTransaction(): Promise<void> {
    const { service, orders, facts } = this.#world;
    for (const order of orders) {
      const { payments, state } = await this.#process.orders.read(order);
      if (state === 'in_review' || payments.length === 0) continue;
      const known = new Set(payments.map(({ reference }) => reference));
      const unknown = service.charges.find(
        (charge) => charge.order === order && !known.has(charge.reference) && !facts.isHeld(charge.reference),
      );
      if (!unknown) continue;
      const { reference } = unknown;
      return await this.#decide({ key: order, reason: 'unresolved', reference, order }, { reference });
    }
  }
}
