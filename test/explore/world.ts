/**
 * The world that the rules are explored in: a service, processes that can die or freeze between any two steps, persons, and time.
 * A state is plain data, and a step makes the next one from it. What a process does between two awaits is one step.
 */

import type { LedgerRecord, OwedCall } from './rules.ts';
import * as rules from './rules.ts';

/** The time of each state. When time passes, all times of a state become older. */
export const NOW = 2_000_000_000;
/** How long a claim holds. A tick of the clock ends it, makes a 404 lasting, and a check old. */
export const LEASE = 10_000;

export const SERVICE = 'own';

/** What a press asks for, in short. */
export interface AskKind {
  readonly phone: number;
  readonly price: number;
  readonly another?: boolean;
  readonly page?: boolean;
}

/** What a world can do. */
export interface Config {
  readonly orders: readonly string[];
  readonly kind: 'order' | 'key';
  readonly asks: readonly AskKind[];
  readonly processes: number;
  readonly persons: number;
  /** How often each can happen. */
  readonly budget: Budget;
  /** How many charges the service makes. */
  readonly charges: number;
  /** What the service says of a charge that is not paid. */
  readonly statuses: readonly string[];
  readonly finalStatuses: readonly string[];
  /** Whether the service forgets a transaction, makes another amount, or answers an equal request with an earlier charge. */
  readonly notFound: boolean;
  readonly otherAmount: boolean;
  readonly duplicates: boolean;
  /** Whether an error can name the charge that was made. */
  readonly named: boolean;
  /** Whether sweeps check, handlers are told, records are pruned, webhooks come. */
  readonly sweep: boolean;
  readonly handlers: boolean;
  readonly prune: boolean;
  readonly webhooks: boolean;
  /** Whether a process renews its claim. */
  readonly heartbeat: boolean;
  /** Whether persons also decide what is not true, take back, and add transactions. */
  readonly wrong: boolean;
  readonly takeBack: boolean;
  readonly add: boolean;
  /** How many payments an order begins with: all closed. */
  readonly closedBefore: number;
  /** Whether a process sends although its lease is over: that is a fault, which must be found. */
  readonly sendsLate: boolean;
  readonly maxStates: number;
}

export interface Budget {
  readonly presses: number;
  readonly ticks: number;
  readonly weeks: number;
  readonly decisions: number;
  /** Writes whose commit the process does not hear of. */
  readonly lostCommits: number;
  /** How often the store's clock is set back. */
  readonly jumps: number;
}

/** A charge at the service. */
export interface ServiceCharge {
  readonly ref: string;
  readonly order: number;
  readonly attempt: string;
  readonly ask: AskKind;
  readonly status: string;
  readonly other?: true;
  /** A person decided otherwise about it than is true, or it was deleted after its end: the shop was told. */
  readonly excused?: true;
  /** The service said that it ended. */
  readonly ended?: true;
  /** The service took a success back. */
  readonly reversed?: true;
  /** The service answered another request with it, too. */
  readonly repeated?: true;
  readonly askedAt?: number;
}

/** A request on its way. */
interface Flight {
  readonly order: number;
  readonly attempt: string;
  readonly ask: AskKind;
  readonly another: boolean;
  readonly excused?: true;
}

interface Claim {
  /** The order that has the reference. */
  readonly owner: number;
  readonly version: number;
}

export interface Found {
  readonly finding: rules.Finding;
  readonly askedAt: number;
}

/** Where a process stands, between two awaits. */
export type Process =
  | {
      at: 'press';
      order: number;
      ask: AskKind;
      attempt?: string;
      checks?: string[];
      found?: Found;
    }
  | { at: 'claimed'; order: number; ask: AskKind; attempt: string; until: number; another: boolean }
  | { at: 'sent'; order: number; ask: AskKind; attempt: string; until: number; another: boolean }
  | { at: 'answered'; order: number; ask: AskKind; attempt: string; answer: Answer; owned?: boolean }
  | { at: 'named'; order: number; by: string; answer: Answer & { ref: string }; owned?: boolean }
  | { at: 'checked'; order: number; ref: string; found: Found }
  | { at: 'told'; order: number; call: OwedCall }
  | { at: 'pruned'; order: number; refs: string[]; version?: number }
  | { at: 'webhook'; order: number; ref: string };

/** What came of a request. */
export interface Answer {
  readonly is: 'none' | 'unknown' | 'made';
  readonly ref?: string;
  readonly other?: boolean;
}

type Decision = rules.PlainDecision | 'reference' | 'take_back' | 'add';

/** A person who looked at a payment and is about to decide. */
export interface Person {
  readonly order: number;
  readonly number: number;
  readonly decision: Decision;
  readonly id: string;
  readonly sight: string;
  /** The attempt that the person saw. */
  readonly attempt: string;
  /** The reference that the payment shared with another one then. */
  readonly shared?: string;
  readonly ref?: string;
  readonly step: 'decide' | 'claim' | 'take' | 'confirm';
  readonly owned?: boolean;
  readonly version?: number;
}

/** What the handlers of an order heard, by attempt. */
interface Heard {
  readonly paid?: string;
  readonly [attempt: string]: string | undefined;
}

export interface World {
  records: (LedgerRecord | null)[];
  claims: Record<string, Claim>;
  charges: ServiceCharge[];
  flights: Flight[];
  processes: (Process | null)[];
  persons: (Person | null)[];
  budget: Budget;
  /** The price that was last recorded as asked for. */
  asked: (number | null)[];
  heard: Heard[];
  /** How many ids were given. It tells no two states apart. */
  ids: number;
}

/** A step: what happens, the world after it, and what it broke. */
export interface Step {
  readonly label: string;
  readonly world: World;
  readonly broken: string;
}

export function createWorld(config: Config): World {
  const { orders, processes, persons, budget, closedBefore } = config;
  return {
    records: orders.map(() => (closedBefore > 0 ? createClosed(config) : null)),
    claims: {},
    charges: [],
    flights: [],
    processes: Array.from({ length: processes }, () => null),
    persons: Array.from({ length: persons }, () => null),
    budget,
    asked: orders.map(() => null),
    heard: orders.map(() => ({})),
    ids: 0,
  };
}

/** An order that has many payments, which a person closed. */
function createClosed(config: Config): LedgerRecord {
  const ask = createAsk({ phone: 1, price: 1 }, 'closed', config);
  const charge = { is: 'closed' } as const;
  const payment = rules.createPayment(ask, undefined, { charge, pressed: 1, createdAt: NOW });
  const record = rules.createRecord({ kind: config.kind, service: SERVICE }, ask);
  return { ...record, presses: 1, payments: Array.from({ length: config.closedBefore }, () => payment) };
}

export const toPrice = (price: number) => ({ amount: `${price}.00`, currency: 'GHS' });

/** What tells one ask from another. */
export const createShort = ({ phone, price, page = false }: AskKind) =>
  ({
    operation: page ? 'initialize' : 'chargeMobileMoney',
    ...toPrice(price),
    network: undefined,
    phone: page ? undefined : String(phone),
  }) as const;

export function createAsk(ask: AskKind, attempt: string, config: Config): rules.Ask {
  const { phone, price, page } = ask;
  return {
    ...createShort(ask),
    fingerprint: `${phone} ${price} ${page}`,
    schedule: { initialDelay: 0, minDelay: 1, maxDelay: 1, timeout: 100 * LEASE },
    finalStatuses: [...config.finalStatuses],
    attempt,
  };
}

export const copy = (world: World): World => ({
  records: [...world.records],
  claims: { ...world.claims },
  charges: [...world.charges],
  flights: [...world.flights],
  processes: [...world.processes],
  persons: [...world.persons],
  budget: world.budget,
  asked: [...world.asked],
  heard: [...world.heard],
  ids: world.ids,
});

/** Makes everything older, by the store's clock. */
export function passTime(world: World, by: number): void {
  world.records = world.records.map((record) => record && shiftRecord(record, by));
  world.charges = world.charges.map((charge) =>
    charge.askedAt === undefined ? charge : { ...charge, askedAt: charge.askedAt - by },
  );
  world.processes = world.processes.map((process) => process && shiftProcess(process, by));
}

function shiftProcess(process: Process, by: number): Process {
  if ('until' in process) return { ...process, until: process.until - by };
  if ('found' in process && process.found)
    return { ...process, found: { ...process.found, askedAt: process.found.askedAt - by } } as Process;
  return process;
}

function shiftRecord(record: LedgerRecord, by: number): LedgerRecord {
  const shiftSeen = (seen: rules.Seen): rules.Seen => ({
    ...seen,
    ...(seen.askedAt !== undefined && { askedAt: seen.askedAt - by }),
    ...(seen.endedAt !== undefined && { endedAt: seen.endedAt - by }),
    ...(seen.notFoundSince !== undefined && { notFoundSince: seen.notFoundSince - by }),
    ...(seen.failing && { failing: { since: seen.failing.since - by, at: seen.failing.at - by } }),
  });
  const shiftCharge = (charge: rules.Charge): rules.Charge =>
    charge.is === 'sending' ? { ...charge, until: charge.until - by } : charge;
  const payments = record.payments.map((payment) => ({
    ...payment,
    createdAt: payment.createdAt - by,
    charge: shiftCharge(payment.charge),
    resolutions: payment.resolutions.map((entry) => ({
      ...entry,
      replaced: { ...entry.replaced, charge: shiftCharge(entry.replaced.charge) },
    })),
    ...(payment.seen && { seen: shiftSeen(payment.seen) }),
    ...(payment.pace?.notifiedAt !== undefined && {
      pace: { ...payment.pace, notifiedAt: payment.pace.notifiedAt - by },
    }),
  }));
  return { ...record, payments };
}

/** Returns the id of an attempt or resolution that no state knows yet. */
export function newId(world: World): string {
  const id = `t${world.ids}`;
  world.ids += 1;
  return id;
}
