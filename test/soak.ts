/**
 * `npm run soak -- [--rounds 20] [file …]`: runs the property tests in their whole size, with another random seed each round.
 * It ends at the first round that fails, and prints what repeats it.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '20' } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number, 1 or more.');

const drawsValues = (file: string) => readFileSync(file, 'utf8').includes("from 'fast-check'");
const files =
  positionals.length > 0
    ? positionals
    : globSync('test/**/*.test.ts', { exclude: ['test/e2e/**'] }).filter(drawsValues);

for (let round = 1; round <= rounds; round++) {
  const seed = String(randomInt(2 ** 31));
  console.log(`Round ${round} of ${rounds}: PROPERTY_SEED=${seed}`);
  const { status } = spawnSync('vitest', ['run', '--config', 'test/vitest.config.ts', ...files], {
    stdio: 'inherit',
    env: { ...process.env, TEST_SIZE: 'exhaustive', PROPERTY_SEED: seed },
  });
  if (status === 0) continue;
  console.log(`The seed ${seed} fails: TEST_SIZE=exhaustive PROPERTY_SEED=${seed} npm test -- <file>`);
  process.exitCode = 1;
  break;
}
