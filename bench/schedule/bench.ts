import { parseArgs } from 'node:util';
import { printTable, ratio } from '../table.ts';
import { defaultModel, drawPayments, type Model, otherModels } from './model.ts';
import { findOptimum } from './optimum.ts';
import { candidates, fixed, others, ours, type Policy, predecessor } from './policies.ts';
import { type Row, simulate } from './simulate.ts';

/** Simulates customers and prints the requests and the detection delay of each schedule. */
export async function benchSchedule(args: string[]): Promise<void> {
  const { seed, waits, plot } = parseOptions(args);
  const simulateUnder = (model: Model) => {
    const customers = drawPayments(model, waits, seed);
    return (policy: Policy): Row => ({ name: policy.name, ...simulate(policy, customers, seed + 2) });
  };
  console.log(
    `${waits.toLocaleString('en-US')} simulated customers, seed ${seed}, the same for each schedule. Delays are in\n` +
      'seconds, from the final status to the response that shows it. "paid" are the customers who approved.',
  );

  const simulateDefault = simulateUnder(defaultModel);
  const budget = simulateDefault(ours).requests;
  const best = findOptimum(drawPayments(defaultModel, 1_000_000, seed + 1), budget);
  const compared = [ours, predecessor, ...others, best].map(simulateDefault);
  printComparison(compared);
  if (plot) (await import('./plot.ts')).plotSchedules(compared, waits);

  const rivals = [ours, predecessor, fixed(5), ...candidates];
  const results = otherModels.map((model) => ({ name: model.name, rows: rivals.map(simulateUnder(model)) }));
  printOtherModels(results);
  printCandidates(rivals.map(simulateDefault), results);
}

function parseOptions(args: string[]): { seed: number; waits: number; plot: boolean } {
  const options = {
    seed: { type: 'string', default: '1' },
    waits: { type: 'string', default: '100000' },
    plot: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const [seed, waits] = [Number(values.seed), Number(values.waits)];
  if (Number.isInteger(seed) && Number.isInteger(waits) && waits >= 1_000)
    return { seed, waits, plot: values.plot };
  throw new Error('--seed and --waits must be whole numbers, --waits 1,000 or more.');
}

function printComparison(rows: readonly Row[]): void {
  const [base] = rows;
  printTable('Requests for one wait, and delay until its final status is detected', rows, [
    ['schedule', ({ name }) => name],
    ['requests', ({ requests }) => requests],
    ['to ours', ({ requests }) => ratio(requests, base?.requests)],
    ['mean', ({ mean }) => mean],
    ['p95', ({ p95 }) => p95],
    ['paid: requests', ({ paid }) => paid.requests],
    ['mean', ({ paid }) => paid.mean],
    ['to ours', ({ paid }) => ratio(paid.mean, base?.paid.mean)],
    ['p95', ({ paid }) => paid.p95],
    ['to ours', ({ paid }) => ratio(paid.p95, base?.paid.p95)],
    ['not detected', ({ missed }) => `${(100 * missed).toFixed(2)} %`],
  ]);
}

interface ModelResult {
  name: string;
  rows: readonly Row[];
}

function printOtherModels(results: readonly ModelResult[]): void {
  const names = results[0]?.rows.map(({ name }) => name) ?? [];
  const letter = (index: number) => String.fromCharCode(65 + index);
  const figures = ({ requests, paid }: Row) =>
    [requests, paid.mean, paid.p95].map((figure) => figure.toFixed(1)).join(' / ');
  printTable('Other models: requests / mean / p95 of the paid', results, [
    ['model', ({ name }) => name],
    ...names.map(
      (_, index) =>
        [
          letter(index),
          ({ rows }: ModelResult) =>
            rows
              .slice(index, index + 1)
              .map(figures)
              .join(),
        ] as const,
    ),
  ]);
  console.log(names.map((name, index) => `\n  ${letter(index)}  ${name}`).join(''));
}

function printCandidates(rows: readonly Row[], results: readonly ModelResult[]): void {
  const worst = (figure: (row: Row) => number) => (row: Row) =>
    Math.max(...results.flatMap(({ rows }) => rows.filter(({ name }) => name === row.name).map(figure)));
  printTable('Under the default model, and the worst of all models', rows, [
    ['schedule', ({ name }) => name],
    ['requests', ({ requests }) => requests],
    ['mean', ({ mean }) => mean],
    ['p95', ({ p95 }) => p95],
    ['paid: mean', ({ paid }) => paid.mean],
    ['p95', ({ paid }) => paid.p95],
    ['worst: requests', worst(({ requests }) => requests)],
    ['mean', worst(({ mean }) => mean)],
    ['paid: mean', worst(({ paid }) => paid.mean)],
    ['p95', worst(({ paid }) => paid.p95)],
  ]);
}
