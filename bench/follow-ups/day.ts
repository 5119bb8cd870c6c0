import { getPause } from '../../src/ledger/check.ts';
import { FOLLOWED_FOR } from '../../src/ledger/payment.ts';
import { DEADLINE, defaultModel, drawPayments } from '../schedule/model.ts';
import { ours } from '../schedule/policies.ts';
import { simulate } from '../schedule/simulate.ts';
import { printTable } from '../table.ts';

/** The longest pause after an end, in milliseconds. */
const MAX_PAUSE_AFTER_END = 24 * 60 * 60 * 1000;

/** What one check costs, on average. CPU is in microseconds. */
export interface CheckCost {
  name: string;
  statements: number;
  commits: number;
  cpu: number;
  databaseCpu: number | undefined;
}

/** Orders of a day. */
const DAYS = [1_000_000, 10_000_000];
const SECONDS_PER_DAY = 24 * 60 * 60;
/** Assumed: this part of a day's orders comes in its busiest hour. */
const PEAK_HOUR = 0.12;
/** The default of `maxRequestsPerSecond`. */
const DEFAULT_RATE = 50;

/** Returns how often a payment is checked after it ended `failed` or `abandoned`. */
function countChecksAfterEnd(): number {
  let count = 0;
  for (let elapsed = 0; elapsed < FOLLOWED_FOR; count++)
    elapsed += getPause(count + 1, 0.5, MAX_PAUSE_AFTER_END);
  return count;
}

/** Prints what a day of many orders needs, by the model of customers of `npm run bench -- schedule`. */
export function printDay(costs: readonly CheckCost[]): void {
  const customers = drawPayments(defaultModel, 100_000, 1);
  const { requests: checksUntilFinal } = simulate(ours, customers, 3);
  // Nobody pays after such an end in this model.
  const ended = customers.filter(({ kind }) => kind === 'declined' || kind === 'unanswered').length;
  const checksAfterEnd = countChecksAfterEnd();
  const checksPerPayment = checksUntilFinal + (ended / customers.length) * checksAfterEnd;
  const openFor = customers.reduce((sum, { finalAt }) => sum + finalAt, 0) / customers.length / 1_000;
  const periods = DAYS.flatMap((orders) => [
    { name: 'mean of the day', orders, ordersPerSecond: orders / SECONDS_PER_DAY },
    {
      name: `busiest hour, ${PEAK_HOUR * 100} % of the orders (assumed)`,
      orders,
      ordersPerSecond: (orders * PEAK_HOUR) / 3_600,
    },
  ]).map((period) => ({ ...period, checksPerSecond: period.ordersPerSecond * checksPerPayment }));
  const ordersColumn = [
    'orders a day',
    ({ orders }: { orders: number }) => orders.toLocaleString('en-US'),
  ] as const;
  console.log(
    `\nBy the model of customers of "npm run bench -- schedule", a payment has ${checksUntilFinal.toFixed(1)} checks until its\n` +
      `status is final or the deadline of ${DEADLINE / 1_000} s has passed, and is open for ${openFor.toFixed(0)} s. ${((100 * ended) / customers.length).toFixed(0)} % end failed, and have\n` +
      `${checksAfterEnd} more checks within 7 days: ${checksPerPayment.toFixed(1)} checks for each payment. All at the default schedule, without webhooks.`,
  );
  printTable('What the service gets', periods, [
    ordersColumn,
    ['', ({ name }) => name],
    ['orders/s', ({ ordersPerSecond }) => ordersPerSecond],
    ['open at once', ({ ordersPerSecond }) => ordersPerSecond * openFor],
    ['GETs/s', ({ checksPerSecond }) => checksPerSecond],
    [
      'processes at the default rate',
      ({ checksPerSecond }) => String(Math.ceil(checksPerSecond / DEFAULT_RATE)),
    ],
  ]);
  const rows = costs.flatMap((cost) => periods.map((period) => ({ ...cost, ...period, store: cost.name })));
  const formatCores = (cpu: number | undefined, checksPerSecond: number) =>
    cpu === undefined ? undefined : `${((cpu * checksPerSecond) / 10_000).toFixed(1)} %`;
  printTable('What the store and the processes need, at the cost of each check of "run" above', rows, [
    ['store', ({ store }) => store],
    ordersColumn,
    ['', ({ name }) => name],
    ['statements/s', ({ statements, checksPerSecond }) => statements * checksPerSecond],
    ['commits/s', ({ commits, checksPerSecond }) => commits * checksPerSecond],
    ['CPU of one core', ({ cpu, checksPerSecond }) => formatCores(cpu, checksPerSecond)],
    ['of the database', ({ databaseCpu, checksPerSecond }) => formatCores(databaseCpu, checksPerSecond)],
  ]);
}
