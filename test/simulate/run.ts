/**
 * `npm run simulate -- --seed 17 --worlds 1000` runs the worlds of the seeds 17 to 1016. The first one in which an invariant is
 * violated ends it, and is shortened and printed. It fails, too, if something that has to occur never did in 100 worlds or more.
 * With `--seed 17 --log` it prints what happened in one.
 */

import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import './clock.ts';
import { findMissing } from './swarm.ts';
import { World, type WorldResult } from './world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    worlds: { type: 'string' },
    log: { type: 'boolean', default: false },
    // Prints a digest of each trace: they are the same on every machine.
    digest: { type: 'boolean', default: false },
    // What a shortened world leaves out, with commas.
    without: { type: 'string', default: '' },
    // Goes on after a violation, and shortens nothing.
    all: { type: 'boolean', default: false },
  },
});

const first = Number(values.seed);
const worlds = Number(values.worlds ?? (values.log ? 1 : 100));
const without = values.without.split(',').filter(Boolean);

const write = (line: string) => void process.stdout.write(`${line}\n`);
// The clocks of this thread are virtual, but for this one.
const readSeconds = () => Number(process.hrtime.bigint()) / 1e9;

const counts: Record<string, number> = {};
const violated: { seed: number; result: WorldResult }[] = [];
const startedAt = readSeconds();
let days = 0;
let seed = first;
for (; seed < first + worlds && (values.all || violated.length === 0); seed++) {
  const result = await new World(seed, new Set(without)).run();
  days += result.days;
  for (const [what, times] of Object.entries(result.counts)) counts[what] = (counts[what] ?? 0) + times;
  if (values.log) write(result.trace.join('\n'));
  if (values.digest) write(`${seed} ${hash('sha256', result.trace.join('\n'))}`);
  if (result.violations.length > 0) violated.push({ seed, result });
}
const seconds = readSeconds() - startedAt;

for (const [what, times] of Object.entries(counts).sort()) write(`${String(times).padStart(8)} ${what}`);
const run = seed - first;
const perMinute = (amount: number) => Math.round((amount / seconds) * 60);
write(
  `${run} worlds, ${days.toFixed(1)} simulated days in ${seconds.toFixed(1)} s: ${perMinute(run)} worlds and ${perMinute(days)} days in a minute`,
);
const missing = run >= 100 ? findMissing(counts) : [];
if (missing.length > 0) write(`Never occurred: ${missing.join(', ')}`);
for (const { seed, result } of violated)
  write(
    `seed ${seed} violated: ${result.violations.map(({ name, details }) => `${name} (${details})`).join('; ')}`,
  );
const [worst] = violated;
if (worst && !values.all && !values.log) await shorten(worst.seed, worst.result);
process.exitCode = violated.length > 0 || missing.length > 0 ? 1 : 0;

/** Leaves out as much as possible, in halves and smaller parts, so that the same invariant is still violated. */
async function shorten(seed: number, whole: WorldResult): Promise<void> {
  let { trace } = whole;
  let leftOut = without;
  let left = whole.parts.filter((part) => !leftOut.includes(part));
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let start = 0; start < left.length; ) {
      const tried = [...leftOut, ...left.slice(start, start + size)];
      const shorter = await new World(seed, new Set(tried)).run();
      if (shorter.violations[0]?.name === whole.violations[0]?.name) {
        ({ trace } = shorter);
        leftOut = tried;
        left = left.filter((part) => !tried.includes(part));
      } else start += size;
    }
  write(trace.join('\n'));
  write(`It needs: ${left.join(', ')}`);
  write(`npm run simulate -- --seed ${seed} --log --without '${leftOut.join(',')}'`);
}
