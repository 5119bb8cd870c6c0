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

/**
 * A press may rely on a check of the last second. The response to that check can have been on its way for the timeout of a
 * request before, and longer on a busy machine. In milliseconds.
 */
const FRESH_FOR = 6_000;

interface OrderRun {
  made: readonly MadePayment[];
  entries: readonly JournalEntry[];
  events: readonly LoggedOrderEvent[];
}

/** Compares what the processes did with the service's ledger. */
export function checkOrders(run: OrderRun): { paid: number; paidTwice: number; violations: string[] } {
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
      ...checkTold(run),
      ...orders.flatMap((order) => [...checkBegun(run, order), ...checkDeliveries(run, order)]),
    ],
  };
}

function checkKeys({ made, entries }: OrderRun): string[] {
  const known = new Set(entries.flatMap(({ requestIds }) => requestIds));
  const twice = entries.flatMap(({ key, requestIds }) => {
    const { length } = made.filter(({ requestId }) => requestIds.includes(requestId));
    return length > 1 ? [`${key} was charged ${length} times`] : [];
  });
  const wrong = entries.flatMap(({ key, state, reference, requestIds }) => {
    const own = made.find(({ requestId }) => requestIds.includes(requestId));
    if (state !== 'completed' || own?.reference === reference) return [];
    return [`${key} has ${reference}, and its request made ${own?.reference}`];
  });
  const unnamed = made.filter(({ requestId }) => !known.has(requestId));
  return [...twice, ...wrong, ...unnamed.map(({ order }) => `${order} has a charge that no key names`)];
}

/** No payment begins while an earlier one could be paid, unless it was asked for, nor once the order is paid. */
function checkBegun(run: OrderRun, order: string): string[] {
  const { made, events } = run;
  const own = made.filter((payment) => payment.order === order);
  // The first time that anybody was told that the order is paid. A press that begins later sends nothing.
  const told = events.find((event) => event.order === order && ['onPaid', 'paid'].includes(event.event));
  const late = own.filter(({ pressedAt }) => pressedAt > (told?.at ?? Number.POSITIVE_INFINITY));
  const early = own.flatMap((payment, index) =>
    own
      .slice(0, index)
      .filter((earlier) => couldBePaid(run, earlier, payment))
      .map((earlier) => `${order}: ${payment.reference} began while ${earlier.reference} could be paid`),
  );
  return [
    ...early,
    ...late.map(({ reference }) => `${order}: ${reference} was begun by a press after the order was paid`),
  ];
}

/** An order is paid by one payment, and that one is paid. */
function checkDeliveries({ made, entries, events }: OrderRun, order: string): string[] {
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
export function checkTold({ made, entries, events }: OrderRun): string[] {
  const reviewed = events.filter(({ reason = '' }) => ['paid_twice', 'price_changed'].includes(reason));
  const winners = events.filter(({ event }) => event === 'onPaid' || event === 'paid');
  const told = new Set([...winners, ...reviewed].map(({ key }) => key));
  return made.flatMap((payment) => {
    const { order, requestId, reference, statuses } = payment;
    // One that succeeds after it was abandoned is found at the slow pauses, which are longer than a run.
    const isFound = statuses.length === 1 && statuses[0]?.status === 'success';
    if (!isFound) return [];
    const entry = entries.find(({ requestIds }) => requestIds.includes(requestId));
    if (entry?.state !== 'completed' || told.has(entry.key)) return [];
    return [`${order}: nobody was told that ${reference} (${entry.key}) is paid`];
  });
}

/**
 * Whether a payment could still be paid, as far as the service had said, when the next one began. A press may rely on a
 * check of the last second. A customer who wants another payment while one is under way gets it, and the request of the
 * earlier one can arrive after that of the next.
 */
function couldBePaid({ entries }: OrderRun, earlier: MadePayment, next: MadePayment): boolean {
  if (readStatus(earlier, next.pressedAt - FRESH_FOR) === 'success') return true;
  const findNumber = ({ requestId }: MadePayment) =>
    Number(entries.find(({ requestIds }) => requestIds.includes(requestId))?.key.split('/')[1]);
  const wasOnItsWay = earlier.startAnother && findNumber(next) < findNumber(earlier);
  return !next.startAnother && !wasOnItsWay && readStatus(earlier, next.at) === 'pending';
}
