import { printTable } from '../../../bench/table.ts';
import { points } from './doom.ts';
import type { Outcome } from './harness.ts';
import type { JournalKind } from './kinds.ts';

const whole = (count: number | undefined) => (count === undefined ? '-' : count.toLocaleString('en-US'));

export function printOutcomes(title: string, outcomes: readonly Outcome[]): void {
  const sides = outcomes.map((outcome) => ({ name: nameOf(outcome), outcome }));
  const line =
    (read: (outcome: Outcome) => number | undefined) =>
    ({ outcome }: { outcome: Outcome }) =>
      whole(read(outcome));
  printTable(title, sides, [
    ['journal', ({ name }) => name],
    ['keys', line(({ keys }) => keys)],
    ['kills', line(({ kills }) => kills)],
    ['aimed', line(({ aimed }) => aimed)],
    ['held up', line(({ heldUp }) => heldUp)],
    ['restarts', line(({ restarts }) => restarts)],
    ['requests', line(({ requests }) => requests)],
    ['charges', line(({ charges }) => charges)],
    ['waited', line(({ waited }) => waited)],
    ['from record', line(({ answered }) => answered)],
    ['conflicts', line(({ conflicts }) => conflicts)],
    ['completed', line(({ endings }) => endings?.completed)],
    ['rejected', line(({ endings }) => endings?.rejected)],
    ['unknown', line(({ endings }) => endings?.unknown)],
    ['freed', line(({ endings }) => endings?.notCharged)],
    ['settled', line(({ settled }) => settled && settled.charged + settled.notCharged)],
    ['charged twice', line(({ doubled }) => doubled)],
    ['seconds', line(({ seconds }) => Math.round(seconds))],
  ]);
}

export function printKills(outcomes: readonly Outcome[]): void {
  printTable(
    'Kills, by the moment they were aimed at',
    [...points, 'any moment'].map((point) => point),
    [
      ['moment', (point) => point],
      ...outcomes.map(
        (outcome) => [nameOf(outcome), (point: string) => whole(outcome.killsAt.get(point) ?? 0)] as const,
      ),
    ],
  );
}

const names: Partial<Record<JournalKind, string>> = { none: 'no journal', memory: 'in memory only' };

export function nameOf({ kind, settled }: Outcome): string {
  const name = names[kind] ?? kind;
  return settled ? `${name}, with a person` : name;
}
