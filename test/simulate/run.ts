/**
 * Runs worlds: `npm run simulate`, or `node test/simulate/run.ts --from 1 --count 300`. With `--seed 17 --log`, prints what
 * happened in one.
 */

import { parseArgs } from 'node:util';
import { World } from './world.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    seed: { type: 'string' },
    log: { type: 'boolean' },
    orders: { type: 'string' },
    faults: { type: 'string' },
  },
});

const write = process.stdout.write.bind(process.stdout);
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.count) : 1;
const counts: Record<string, number> = {};
let failed = 0;
for (let seed = from; seed < from + count; seed++) {
  const world = new World({
    seed,
    ...(values.orders && { orders: Number(values.orders) }),
    ...(values.faults && { faults: Number(values.faults) }),
  });
  const { problems, log, counts: own } = await world.run();
  for (const [what, times] of Object.entries(own)) counts[what] = (counts[what] ?? 0) + times;
  if (values.log) write(`${log.join('\n')}\n`);
  if (problems.length === 0) continue;
  failed += 1;
  write(`seed ${seed}: ${problems.join('; ')}\n`);
}
write(`${count} worlds, ${failed} failed\n${JSON.stringify(counts)}\n`);
process.exitCode = failed > 0 ? 1 : 0;
