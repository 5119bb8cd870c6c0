import type { JournalEntry } from '../../../../src/journal/index.ts';
import { type MadePayment, readStatus } from './service.ts';

/** What a process of the shop has logged. */
export interface LoggedOrderEvent {
  readonly at: number;
  readonly generation: number;
  readonly event: string;
  readonly order?: string | undefined;
  readonly key?: string | undefined;
  readonly reference?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** An answer of the service that is this old can be what a press relied on, in milliseconds. */
const FRESH_FOR = 1_000;

/** Between the answer and the request of a press lies the time of a busy machine, in milliseconds. */
const PRESS_TIME = 2_500;

interface Run {
  made: readonly MadePayment[];
  entries: readonly JournalEntry[];
  events: readonly LoggedOrderEvent[];
  /** The keys of the payments that a customer superseded on purpose. */
  superseded: ReadonlySet<string>;
}

/** Compares what the processes did with the service's ledger. */
export function checkOrders(run: Run): { paid: number; paidTwice: number; violations: string[] } {
  const { made, events } = run;
  const orders = [...new Set(made.map(({ order }) => order))];
  const failed = events.flatMap(({ event, message }) =>
    event === 'failed' ? [`a call failed: ${message}`] : [],
  );
  return {
    paid: new Set(events.flatMap(({ event, order }) => (event === 'onPaid' ? [order] : []))).size,
    paidTwice: new Set(events.flatMap(({ reason, key }) => (reason === 'paid_twice' ? [key] : []))).size,
    violations: [
      ...failed,
      ...checkKeys(run),
      ...orders.flatMap((order) => [
        ...checkBegun(run, order),
        ...checkDeliveries(run, order),
        ...checkTold(run, order),
      ]),
    ],
  };
}

function checkKeys({ made, entries }: Run): string[] {
  const known = new Set(entries.flatMap(({ requestIds }) => requestIds));
  const twice = entries.flatMap(({ key, requestIds }) => {
    const { length } = made.filter(({ requestId }) => requestIds.includes(requestId));
    return length > 1 ? [`${key} was charged ${length} times`] : [];
  });
  const unnamed = made.filter(({ requestId }) => !known.has(requestId));
  return [...twice, ...unnamed.map(({ order }) => `${order} has a charge that no key names`)];
}

/** No payment begins while an earlier one could be paid, unless it was asked for, nor after the delivery. */
function checkBegun(run: Run, order: string): string[] {
  const { made, events } = run;
  const own = made.filter((payment) => payment.order === order);
  const delivery = events.find((event) => event.event === 'onPaid' && event.order === order);
  const deliveredAt = delivery?.at ?? Number.POSITIVE_INFINITY;
  const late = own.filter(({ at }) => at > deliveredAt + PRESS_TIME);
  const early = own.flatMap((payment, index) =>
    own
      .slice(0, index)
      .filter((earlier) => couldBePaid(run, earlier, payment))
      .map((earlier) => `${order}: ${payment.reference} began while ${earlier.reference} could be paid`),
  );
  return [...early, ...late.map(({ reference }) => `${order}: ${reference} began after the delivery`)];
}

/** An order is paid by one payment, and that one is paid. */
function checkDeliveries({ made, entries, events }: Run, order: string): string[] {
  const winners = findWinners(events, order);
  const several = winners.size > 1 ? [`${order} was paid by ${[...winners].join(' and ')}`] : [];
  const wrong = [...winners].filter((key) => {
    const entry = entries.find((item) => item.key === key);
    const payment = made.find(({ reference }) => reference === entry?.reference);
    return !payment || readStatus(payment, Number.POSITIVE_INFINITY) !== 'success';
  });
  return [...several, ...wrong.map((key) => `${order} was delivered for ${key}, which is not paid`)];
}

function findWinners(events: readonly LoggedOrderEvent[], order: string): Set<string | undefined> {
  const told = events.filter((event) => event.order === order && ['onPaid', 'paid'].includes(event.event));
  return new Set(told.map(({ key }) => key));
}

/** Each payment that succeeded pays the order, or a person was told. */
function checkTold({ made, entries, events }: Run, order: string): string[] {
  const reviewed = events.filter(({ reason = '' }) => ['paid_twice', 'price_changed'].includes(reason));
  const told = new Set([...findWinners(events, order), ...reviewed.map(({ key }) => key)]);
  return made.flatMap((payment) => {
    const { requestId, reference, statuses } = payment;
    // One that succeeds after it was abandoned is found at the slow pauses, which are longer than a run.
    const isFound = statuses.length === 1 && statuses[0]?.status === 'success';
    if (payment.order !== order || !isFound) return [];
    const entry = entries.find(({ requestIds }) => requestIds.includes(requestId));
    if (entry?.state !== 'completed' || told.has(entry.key)) return [];
    return [`${order}: nobody was told that ${reference} (${entry.key}) is paid`];
  });
}

/**
 * Whether a payment could still be paid, as far as the service had said, when the next one began. A press may rely on an
 * answer of the last second. What a customer superseded on purpose no longer keeps the order.
 */
function couldBePaid({ entries, superseded }: Run, earlier: MadePayment, next: MadePayment): boolean {
  const wasPaid = readStatus(earlier, next.at - FRESH_FOR - PRESS_TIME) === 'success';
  const key = entries.find(({ requestIds }) => requestIds.includes(earlier.requestId))?.key;
  const isSuperseded = key !== undefined && superseded.has(key);
  return wasPaid || (!isSuperseded && readStatus(earlier, next.at) === 'pending');
}
