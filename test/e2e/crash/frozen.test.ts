import { expect, test } from 'vitest';
import { type Counts, freezeCharges } from './frozen/harness.ts';

const counts: Counts = [
  ['timeout', 'connecting', 2],
  ['timeout', 'random', 12],
  ['timeout', 'arrived', 3],
  ['lease', 'connecting', 2],
  ['lease', 'random', 12],
];

test('sends nothing after a freeze, and reads what had arrived', async () => {
  const runs = await Promise.all([freezeCharges('fetch', counts), freezeCharges('undiciTransport', counts)]);
  const freezes = runs.flat();
  expect(freezes.filter(({ hadLeft, arrivals }) => arrivals > (hadLeft ? 1 : 0))).toEqual([]);
  expect(freezes.filter(({ moment, end }) => moment === 'arrived' && end !== 'made')).toEqual([]);
  const random = freezes.filter(({ moment }) => moment === 'random');
  const left = random.filter(({ hadLeft }) => hadLeft).length;
  console.log(`stopped at random: ${left} of ${random.length} charges had left`);
});
