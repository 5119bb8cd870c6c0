/** The worlds that are explored: each has a few customers, processes, persons and faults, so that all of it can be visited. */

import type { AskKind, Budget, Config } from './world.ts';

const PHONE: AskKind = { phone: 1, price: 1 };
const OTHER_PHONE: AskKind = { phone: 2, price: 1, another: true };
const SAME_PHONE_AGAIN: AskKind = { phone: 1, price: 1, another: true };
const DEARER: AskKind = { phone: 1, price: 2 };
const DEARER_AGAIN: AskKind = { phone: 2, price: 2, another: true };
const PAGE: AskKind = { phone: 0, price: 1, page: true };

const NO_BUDGET: Budget = { presses: 2, ticks: 1, weeks: 0, decisions: 1, lostCommits: 0, jumps: 0 };

const BASE: Config = {
  orders: ['A'],
  kind: 'order',
  asks: [PHONE],
  processes: 2,
  persons: 1,
  budget: NO_BUDGET,
  charges: 2,
  statuses: ['pending', 'success', 'failed'],
  finalStatuses: ['success', 'failed', 'abandoned'],
  notFound: false,
  otherAmount: false,
  duplicates: false,
  named: false,
  sweep: true,
  handlers: false,
  prune: false,
  webhooks: false,
  heartbeat: false,
  wrong: true,
  takeBack: false,
  add: false,
  closedBefore: 0,
  sendsLate: false,
  maxStates: 150_000,
};

type Given = Partial<Omit<Config, 'budget'>> & { budget?: Partial<Budget> };

const world = ({ budget, ...given }: Given): Config => ({
  ...BASE,
  ...given,
  budget: { ...NO_BUDGET, ...budget },
});

export const configs = {
  /** One customer who presses once. */
  tiny: world({ processes: 1, budget: { presses: 1 }, named: true }),
  /** A check of a transaction whose record is deleted before it is recorded, and that is pressed for again. */
  pruneChecked: world({
    handlers: true,
    prune: true,
    persons: 0,
    budget: { ticks: 0, decisions: 0 },
    statuses: ['success'],
    wrong: false,
  }),
  /** A person names a transaction by mistake, and another one later. */
  mistaken: world({
    takeBack: true,
    processes: 1,
    statuses: ['failed'],
    budget: { decisions: 3, ticks: 0 },
  }),
  /** Two presses of the same, and a sweep. */
  plain: world({}),
  /** A process freezes before it sends, and a person decides meanwhile. */
  freeze: world({ budget: { decisions: 2 }, sweep: false, named: true, statuses: ['pending', 'failed'] }),
  /** The customer wants another number. */
  another: world({
    asks: [PHONE, OTHER_PHONE],
    budget: { presses: 3 },
    statuses: ['success', 'failed', 'pending'],
    wrong: false,
  }),
  sameAgain: world({
    asks: [PHONE, OTHER_PHONE, SAME_PHONE_AGAIN],
    budget: { presses: 3, ticks: 0, decisions: 0 },
    wrong: false,
    statuses: ['pending'],
  }),
  /** The price changes between two presses. */
  price: world({ asks: [PHONE, DEARER], budget: { presses: 3, ticks: 0 }, wrong: false }),
  priceAgain: world({ asks: [PHONE, DEARER_AGAIN], budget: { presses: 3, ticks: 0 }, wrong: false }),
  pricePassing: world({
    asks: [PHONE, DEARER],
    processes: 1,
    charges: 1,
    persons: 0,
    budget: { decisions: 0 },
  }),
  priceTakenBack: world({
    takeBack: true,
    asks: [PHONE, DEARER],
    processes: 1,
    charges: 1,
    budget: { decisions: 3, ticks: 0 },
  }),
  /** A checkout page beside a charge. */
  page: world({
    asks: [PHONE, PAGE, { ...PAGE, another: true }],
    budget: { presses: 3, ticks: 0, decisions: 0 },
    wrong: false,
    statuses: ['pending', 'failed', 'success'],
  }),
  /** The transaction has another amount. */
  mismatch: world({ asks: [PHONE, OTHER_PHONE], otherAmount: true, wrong: false }),
  /** Another payment pays the order beside one of another amount. */
  mismatchPaid: world({
    asks: [PHONE, OTHER_PHONE],
    otherAmount: true,
    processes: 1,
    statuses: ['success'],
    wrong: false,
    budget: { ticks: 1 },
  }),
  /** The service forgets a transaction for a while. */
  gone: world({
    notFound: true,
    budget: { ticks: 2 },
    statuses: ['pending', 'failed', 'success'],
    wrong: false,
  }),
  /** Two orders that the service answers with one transaction. */
  shared: world({ orders: ['A', 'B'], duplicates: true, sweep: false, statuses: ['pending'] }),
  sharedPersons: world({
    orders: ['A', 'B'],
    duplicates: true,
    persons: 2,
    budget: { decisions: 2 },
    sweep: false,
    charges: 1,
    statuses: ['pending'],
  }),
  /** A person names a transaction while the process that it was made for is about to record it. */
  taken: world({
    orders: ['A', 'B'],
    processes: 1,
    charges: 1,
    sweep: false,
    statuses: ['pending'],
    budget: { ticks: 0 },
  }),
  /** One order that the service answers twice with one transaction. */
  duplicate: world({ duplicates: true, budget: { ticks: 0 }, wrong: false }),
  /** What the handlers are told. */
  handlers: world({ handlers: true, budget: { presses: 1 }, charges: 1, wrong: false }),
  handlersAnother: world({
    handlers: true,
    asks: [PHONE, OTHER_PHONE],
    budget: { ticks: 0, decisions: 0 },
    persons: 0,
  }),
  prune: world({ handlers: true, prune: true, budget: { weeks: 1 }, statuses: ['pending', 'failed'] }),
  pruneShared: world({
    orders: ['A', 'B'],
    handlers: true,
    prune: true,
    duplicates: true,
    persons: 0,
    budget: { presses: 3, ticks: 0, decisions: 0 },
    charges: 1,
    statuses: ['success'],
  }),
  /** An idempotency key of the caller's own. */
  key: world({ kind: 'key', named: true, handlers: true, wrong: false }),
  keySwept: world({ kind: 'key', statuses: ['pending', 'failed'] }),
  /** Two persons who decide at the same time. */
  persons: world({ takeBack: true, persons: 2, charges: 1, budget: { presses: 1, decisions: 3 } }),
  personsFrozen: world({
    persons: 2,
    charges: 1,
    sweep: false,
    statuses: ['pending'],
    budget: { decisions: 2, ticks: 2 },
  }),
  reuse: world({ budget: { decisions: 2 }, statuses: ['pending', 'success'] }),
  settle: world({
    takeBack: true,
    orders: ['A', 'B'],
    processes: 1,
    statuses: ['pending', 'success'],
    budget: { decisions: 3, ticks: 0 },
  }),
  /** A response that comes after its lease. */
  late: world({ sweep: false, statuses: ['pending'] }),
  lateShared: world({
    orders: ['A', 'B'],
    charges: 1,
    sweep: false,
    statuses: ['pending'],
    budget: { decisions: 2 },
  }),
  overdue: world({ processes: 1, persons: 0, budget: { presses: 1, decisions: 0, weeks: 1 } }),
  week: world({ processes: 1, budget: { weeks: 1 }, wrong: false }),
  /** Writes whose commit is unknown. */
  lostCommits: world({
    budget: { lostCommits: 2, ticks: 1 },
    charges: 2,
    wrong: false,
    statuses: ['pending', 'success'],
  }),
  lostCommitsLate: world({
    budget: { lostCommits: 1, decisions: 2 },
    sweep: false,
    statuses: ['pending'],
    named: true,
  }),
  lostCommitsAnother: world({
    asks: [PHONE, OTHER_PHONE],
    persons: 0,
    budget: { lostCommits: 1, ticks: 0, decisions: 0 },
    statuses: ['pending', 'failed'],
  }),
  /** The store's clock is set back. */
  jumps: world({
    budget: { jumps: 1, ticks: 2 },
    wrong: false,
    statuses: ['pending', 'failed'],
    notFound: true,
  }),
  /** A status that is not documented. */
  unrecognised: world({ statuses: ['odd', 'success'], wrong: false }),
  /** Not every end is final for the shop. */
  notFinal: world({ finalStatuses: ['success', 'failed'], statuses: ['abandoned', 'success'], wrong: false }),
  /** Webhooks name transactions, also before they are recorded. */
  webhooks: world({ webhooks: true, named: true, wrong: false, statuses: ['pending', 'success'] }),
  webhooksLate: world({
    webhooks: true,
    statuses: ['failed'],
    budget: { weeks: 1, presses: 1 },
    charges: 1,
    wrong: false,
  }),
  /** A person adds a transaction to the order. */
  add: world({
    add: true,
    orders: ['A', 'B'],
    processes: 1,
    charges: 2,
    wrong: false,
    statuses: ['success'],
    budget: { decisions: 2 },
  }),
  /** An order that is at its limit. */
  limit: world({
    closedBefore: 49,
    asks: [PHONE, OTHER_PHONE],
    processes: 2,
    persons: 0,
    budget: { presses: 2, ticks: 1, decisions: 0 },
    statuses: ['pending', 'failed'],
    maxStates: 4_000,
  }),
  heartbeat: world({ heartbeat: true, sweep: false, budget: { ticks: 2 }, statuses: ['pending'] }),
} satisfies Record<string, Config>;

export type ConfigName = keyof typeof configs;
