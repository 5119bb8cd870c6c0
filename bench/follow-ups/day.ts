import { defaultModel, drawPayments } from '../schedule/model.ts';
import { ours } from '../schedule/policies.ts';
import { simulate } from '../schedule/simulate.ts';
import { printTable } from '../table.ts';

/** What one check costs, and what the last one of a payment costs more. */
export interface CheckCost {
  name: string;
  /** Statements for a check that finds the payment pending, and for one that finds it final. */
  pending: number;
  final: number;
  /** Microseconds of CPU for each check, on average. */
  cpu: number;
  databaseCpu: number | undefined;
  /** What one process and two processes reached. */
  checksPerSecond: readonly number[];
}

const ORDERS = 1_000_000;
const SECONDS_PER_DAY = 24 * 60 * 60;
/** Assumed: this part of a day's orders comes in its busiest hour. */
const PEAK_HOUR = 0.12;

/** Returns the mean number of checks of a payment until its final status, by the default schedule. */
export function countChecks(): number {
  return simulate(ours, drawPayments(defaultModel, 100_000, 1), 3).requests;
}

/** Prints what a day of a million orders needs. */
export function printDay(costs: readonly CheckCost[], checksPerPayment: number): void {
  const perSecond = { mean: ORDERS / SECONDS_PER_DAY, peak: (ORDERS * PEAK_HOUR) / 3_600 };
  const checks = { mean: perSecond.mean * checksPerPayment, peak: perSecond.peak * checksPerPayment };
  console.log(
    `\nA day of ${ORDERS.toLocaleString('en-US')} orders. By the model of customers of "npm run bench -- schedule" a payment has ${checksPerPayment.toFixed(2)} checks.\n` +
      `${perSecond.mean.toFixed(1)} orders a second are ${checks.mean.toFixed(0)} GETs a second. In the busiest hour, with ${PEAK_HOUR * 100} % of the orders (assumed), ${perSecond.peak.toFixed(1)} are ${checks.peak.toFixed(0)}.\n` +
      `The default of maxRequestsPerSecond, 50 for each process, is ${(50 / checks.peak).toFixed(2)} of the busiest hour's.`,
  );
  const statements = ({ pending, final }: CheckCost) =>
    (pending * (checksPerPayment - 1) + final) / checksPerPayment;
  const cores = (cpu: number | undefined, rate: number) =>
    cpu === undefined ? undefined : `${((cpu * rate) / 10_000).toFixed(1)} %`;
  printTable('What that needs', costs, [
    ['store', ({ name }) => name],
    ['statements for each check', statements],
    ['a second, mean', (cost) => statements(cost) * checks.mean],
    ['peak', (cost) => statements(cost) * checks.peak],
    ['CPU of one core, mean', ({ cpu }) => cores(cpu, checks.mean)],
    ['peak', ({ cpu }) => cores(cpu, checks.peak)],
    ['of the database, mean', ({ databaseCpu }) => cores(databaseCpu, checks.mean)],
    ['peak', ({ databaseCpu }) => cores(databaseCpu, checks.peak)],
    [
      'one process can do, of the peak',
      ({ checksPerSecond: [one] }) => one && `${(one / checks.peak).toFixed(1)}x`,
    ],
  ]);
}
