import type { WithDatabase } from '../databases.ts';
import { type FollowUpRunOptions, type FollowUpRunResult, runFollowUpProof } from './harness.ts';
import { formatFollowUpName, printFollowUpKills, printFollowUps } from './report.ts';
import { controls } from './settings.ts';
import { controlRun, longRun } from './sizes.ts';

type Common = Pick<FollowUpRunOptions, 'keys' | 'workers' | 'kills' | 'seed'>;

/** Runs the follow-ups on each journal. Returns whether every promise was kept, and each control broke it. */
export async function runFollowUps(
  journals: readonly { kind: FollowUpRunOptions['kind']; withDatabase: WithDatabase }[],
  common: Common,
): Promise<boolean> {
  const results: FollowUpRunResult[] = [];
  const run = async (options: FollowUpRunOptions) => {
    const result = await runFollowUpProof(options);
    results.push(result);
    const { seconds, violations, failed } = result;
    console.log(`${formatFollowUpName(result)}: ${Math.round(seconds)} s`);
    if (result.control !== undefined) return;
    for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
    for (const message of new Set(failed)) console.log(`  a sweep failed: ${message}`);
  };

  for (const { kind, withDatabase } of journals) {
    const sweepers = common.workers;
    const chargeKills = Math.ceil(common.kills / 5);
    await withDatabase((url) => run({ ...longRun, ...common, sweepers, chargeKills, kind, url }));
  }
  // Without the claim, the harness must find double work.
  for (const control of controls)
    await run({
      ...controlRun,
      keys: Math.min(common.keys, 300),
      seed: common.seed,
      kind: 'sqlite',
      control,
    });

  printFollowUps(`Seed ${common.seed}, ${common.workers} sweepers, Node ${process.version}`, results);
  printFollowUpKills(results.filter(({ control }) => control === undefined));
  const failed = results.filter((result) =>
    result.control === undefined ? result.violations.length > 0 : !hasDoubleWork(result),
  );
  for (const result of failed)
    console.log(
      `${formatFollowUpName(result)}: ${result.control === undefined ? 'A FOLLOW-UP IS WRONG' : 'NO DOUBLE WORK WAS FOUND'}`,
    );
  return failed.length === 0;
}

/** Whether a run found requests or calls of handlers that no kill explains. */
function hasDoubleWork({ control, early, unexplained, repeatedWithoutCause }: FollowUpRunResult): boolean {
  const isRepeated = repeatedWithoutCause > 0 || control === 'no lease';
  return early > 0 && unexplained > 0 && isRepeated;
}
