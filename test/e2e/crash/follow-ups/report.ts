import { printTable } from '../../../../bench/table.ts';
import { formatCount, printKillPoints } from '../report.ts';
import type { FollowUpRunResult } from './harness.ts';
import { sweepKillPoints } from './kill-plan.ts';

export function printFollowUps(title: string, results: readonly FollowUpRunResult[]): void {
  const column =
    (read: (result: FollowUpRunResult) => number) =>
    (result: FollowUpRunResult): string =>
      formatCount(read(result));
  printTable(title, results, [
    ['journal', formatFollowUpName],
    ['keys', column(({ keys }) => keys)],
    ['payments', column(({ payments }) => payments)],
    ['kills', column(({ kills }) => kills)],
    ['aimed', column(({ aimed }) => aimed)],
    ['of chargers', column(({ chargeKills }) => chargeKills)],
    ['held at a kill', column(({ heldAtKill }) => heldAtKill)],
    ['GETs', column(({ gets }) => gets)],
    ['not counted', column(({ extra }) => extra)],
    ['by kills', column(({ extraByKill }) => extraByKill)],
    ['without cause', column(({ unexplained }) => unexplained)],
    ['too soon', column(({ early }) => early)],
  ]);
  printTable('What the handlers got', results, [
    ['journal', formatFollowUpName],
    ['delivered', column(({ delivered }) => delivered)],
    ['overdue', column(({ overdue }) => overdue)],
    ['mismatch', column(({ mismatch }) => mismatch)],
    ['gone', column(({ gone }) => gone)],
    ['unresolved', column(({ unresolved }) => unresolved)],
    ['woken', column(({ woken }) => woken)],
    ['onFinal repeated', column(({ onFinalRepeated }) => onFinalRepeated)],
    ['onAttention repeated', column(({ onAttentionRepeated }) => onAttentionRepeated)],
    ['threw', column(({ threw }) => threw)],
    ['repeated without cause', column(({ repeatedWithoutCause }) => repeatedWithoutCause)],
    ['notified', column(({ notified }) => notified)],
    ['wrong', column(({ violations }) => violations.length)],
    ['seconds', column(({ seconds }) => Math.round(seconds))],
  ]);
}

export function printFollowUpKills(results: readonly FollowUpRunResult[]): void {
  const title = 'Kills of sweepers, by the point that they were aimed at';
  printKillPoints(title, sweepKillPoints, results, formatFollowUpName);
}

export function formatFollowUpName({ kind, control }: FollowUpRunResult): string {
  return control === undefined ? kind : `${kind}, ${control}`;
}
