import type { WithDatabase } from '../databases.ts';
import type { JournalKind } from '../journal-kinds.ts';
import { type OrderRunOptions, type OrderRunResult, runOrderProof } from './harness.ts';

/** Runs the orders on each journal. Returns whether every promise was kept, and the control broke it. */
export async function runOrders(
  journals: readonly { kind: JournalKind; withDatabase: WithDatabase }[],
  { keys, workers, kills, seed }: { keys: number; workers: number; kills: number; seed: number },
): Promise<boolean> {
  let isKept = true;
  const run = async (
    options: Pick<OrderRunOptions, 'kind' | 'url' | 'isControl'>,
  ): Promise<OrderRunResult> => {
    const result = await runOrderProof({ orders: Math.ceil(keys / 10), workers, kills, seed, ...options });
    console.log(formatOrderRun(result, options.isControl));
    return result;
  };
  for (const { kind, withDatabase } of journals)
    await withDatabase(async (url) => {
      const { violations } = await run({ kind, url });
      for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
      isKept &&= violations.length === 0;
    });
  const control = await run({ kind: 'sqlite', isControl: true });
  const isFound = control.violations.some((violation) => violation.includes('could be paid'));
  if (!isFound) console.log('NO DOUBLE CHARGE WAS FOUND');
  return isKept && isFound;
}

function formatOrderRun(result: OrderRunResult, isControl = false): string {
  const { kind, orders, kills, made, paid, paidTwice, resolved, violations, seconds } = result;
  const name = isControl ? `${kind}, keys made of the time (control)` : kind;
  return (
    `${name}: ${orders} orders, ${made} payments, ${kills} kills, ${resolved} resolved, ${paid} delivered, ` +
    `${paidTwice} told as paid twice, ${violations.length} violations, ${Math.round(seconds)} s`
  );
}
