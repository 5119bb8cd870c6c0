/**
 * `npm run simulate -- --seed 17 --worlds 1000` runs the worlds of the seeds 17 to 1016. With `--seed 17 --log` it prints what
 * happened in one. It fails if an invariant was violated, and if something never occurred in 100 worlds or more.
 */

import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import './clock.ts';
import { findMissing } from './occurrences.ts';
import { shorten } from './shorten.ts';
import { World, type WorldResult } from './world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    worlds: { type: 'string' },
    log: { type: 'boolean', default: false },
    /** Prints the digest of each trace. */
    digest: { type: 'boolean', default: false },
    without: { type: 'string', default: '' },
    /** Goes on after the first violation, and shortens none. */
    all: { type: 'boolean', default: false },
  },
});

const write = (line: string) => void process.stdout.write(`${line}\n`);
const first = Number(values.seed);
const worlds = Number(values.worlds ?? (values.log ? 1 : 100));
const without = new Set(values.without.split(',').filter(Boolean));

const startedAt = process.hrtime.bigint();
const counts: Record<string, number> = {};
let days = 0;
let violated = 0;
for (let seed = first; seed < first + worlds; seed++) {
  const result = await new World(seed, without).run();
  days += result.days;
  for (const [what, times] of Object.entries(result.counts)) counts[what] = (counts[what] ?? 0) + times;
  if (values.log) write(result.trace.join('\n'));
  if (values.digest) write(`${seed} ${hash('sha256', result.trace.join('\n'))}`);
  if (result.violations.length === 0) continue;
  violated += 1;
  write(`seed ${seed}: ${result.violations.map(({ name, details }) => `${name} (${details})`).join('; ')}`);
  if (values.all) continue;
  await printShortened(seed, result);
  break;
}
const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;

for (const [what, times] of Object.entries(counts).sort()) write(`${String(times).padStart(8)} ${what}`);
const perMinute = (amount: number) => Math.round((amount / seconds) * 60);
write(
  `${worlds} worlds, ${days.toFixed(1)} simulated days in ${seconds.toFixed(1)} s: ${perMinute(worlds)} worlds and ${perMinute(days)} days in a minute`,
);
const missing = worlds >= 100 && !violated ? findMissing(counts) : [];
if (missing.length > 0) write(`Never occurred: ${missing.join(', ')}`);
if (violated > 0) write(`${violated} of the worlds violated an invariant`);
process.exitCode = violated > 0 || missing.length > 0 ? 1 : 0;

async function printShortened(seed: number, whole: WorldResult): Promise<void> {
  const { result, without: leftOut } = await shorten(seed, whole);
  write(result.trace.join('\n'));
  write(`With: ${result.parts.filter((part) => !leftOut.includes(part)).join(', ')}`);
  write(`Again: npm run simulate -- --seed ${seed} --log --without '${leftOut.join(',')}'`);
}
