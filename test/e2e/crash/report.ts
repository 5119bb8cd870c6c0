import { printTable } from '../../../bench/table.ts';
import type { RunResult } from './harness.ts';
import type { JournalKind } from './journal-kinds.ts';
import { killPoints } from './kill-plan.ts';

export const formatCount = (count: number | undefined) =>
  count === undefined ? '-' : count.toLocaleString('en-US');

export function printResults(title: string, results: readonly RunResult[]): void {
  const sides = results.map((result) => ({ name: formatName(result), result }));
  const line =
    (read: (result: RunResult) => number | undefined) =>
    ({ result }: { result: RunResult }) =>
      formatCount(read(result));
  printTable(title, sides, [
    ['journal', ({ name }) => name],
    ['keys', line(({ keys }) => keys)],
    ['kills', line(({ kills }) => kills)],
    ['aimed', line(({ aimed }) => aimed)],
    ['paused', line(({ paused }) => paused)],
    ['restarts', line(({ restarts }) => restarts)],
    ['requests', line(({ requests }) => requests)],
    ['charges', line(({ charges }) => charges)],
    ['waited', line(({ waited }) => waited)],
    ['replayed', line(({ replayed }) => replayed)],
    ['conflicts', line(({ conflicts }) => conflicts)],
    ['completed', line(({ states }) => states?.completed)],
    ['rejected', line(({ states }) => states?.rejected)],
    ['unknown', line(({ states }) => states?.unknown)],
    ['not charged', line(({ states }) => states?.notCharged)],
    ['resolved', line(({ resolved }) => resolved && resolved.charged + resolved.notCharged)],
    ['charged twice', line(({ doubled }) => doubled)],
    ['seconds', line(({ seconds }) => Math.round(seconds))],
  ]);
}

export function printKills(results: readonly RunResult[]): void {
  printKillPoints('Kills, by the point that they were aimed at', killPoints, results, formatName);
}

/** Prints how many processes were killed at each point, in a column for each run. */
export function printKillPoints<Result extends { readonly killsAt: ReadonlyMap<string, number> }>(
  title: string,
  points: readonly string[],
  results: readonly Result[],
  formatRun: (result: Result) => string,
): void {
  const columns = results.map(
    (result) => [formatRun(result), (point: string) => formatCount(result.killsAt.get(point) ?? 0)] as const,
  );
  printTable(title, [...points, 'any time'], [['point', (point) => point], ...columns]);
}

const names: Partial<Record<JournalKind, string>> = { none: 'no journal', memory: 'in memory only' };

export function formatName({ kind, resolved }: RunResult): string {
  const name = names[kind] ?? kind;
  return resolved ? `${name}, with a reviewer` : name;
}
