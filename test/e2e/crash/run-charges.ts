import type { WithDatabase } from './databases.ts';
import { type RunOptions, type RunResult, runCrashProof } from './harness.ts';
import { type JournalKind, negativeControls } from './journal-kinds.ts';
import { formatName, printKills, printResults } from './report.ts';

type Common = Pick<RunOptions, 'keys' | 'workers' | 'kills' | 'seed'>;

/** Runs the charges on each journal. Returns whether every promise was kept, and each control broke it. */
export async function runCharges(
  journals: readonly { kind: JournalKind; withDatabase: WithDatabase }[],
  common: Common,
): Promise<boolean> {
  const results: RunResult[] = [];
  const run = async (options: Partial<RunOptions> & { kind: JournalKind }) => {
    const result = await runCrashProof({ ...common, ...options });
    results.push(result);
    console.log(`${formatName(result)}: ${Math.round(result.seconds)} s, ${result.doubled} charged twice`);
    for (const violation of result.violations.slice(0, 20)) console.log(`  ${violation}`);
  };

  for (const { kind, withDatabase } of journals) {
    // Each run has a database of its own.
    for (const hasReviewer of [false, true]) await withDatabase((url) => run({ kind, url, hasReviewer }));
  }
  // Without a journal, and with journals that break the promise, the harness must find double charges.
  const some = { keys: Math.min(common.keys, 500), kills: Math.min(common.kills, 50) };
  for (const kind of negativeControls) await run({ kind, ...some });

  printResults(`Seed ${common.seed}, ${common.workers} workers, Node ${process.version}`, results);
  printKills(results);
  const isNegativeControl = ({ kind }: RunResult) => negativeControls.includes(kind);
  const failed = results.filter((result) =>
    isNegativeControl(result) ? result.doubled === 0 : result.doubled > 0 || result.violations.length > 0,
  );
  for (const result of failed)
    console.log(
      `${formatName(result)}: ${isNegativeControl(result) ? 'NO DOUBLE CHARGE WAS FOUND' : 'A CHARGE OR A RECORD IS WRONG'}`,
    );
  return failed.length === 0;
}
