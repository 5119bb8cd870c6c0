import { assert } from './assert.ts';
import { type ConformanceTest, charge, expectClaim } from './context.ts';

/** What one handle writes at once. If the store has `writeAll`, these writes travel together. */
export const groupCases: readonly ConformanceTest[] = [
  {
    name: 'gives each of many writes at once its own result',
    async test(context) {
      const [other, journal] = [await context.openHandle(), await context.openHandle()];
      const [free, taken] = [context.newKeys(9), context.newKeys(3)];
      const claimed = await Promise.all(taken.map((key) => expectClaim(other, key)));
      const keys = [...free.slice(0, 5), ...taken, ...free.slice(5)];
      const results = await Promise.all(keys.map((key) => journal.claim(key, charge)));
      for (const [index, key] of keys.entries()) {
        const expected = taken.includes(key) ? 'in_progress' : 'claimed';
        const state = results[index]?.state;
        assert(state === expected, `one of many claims at once was ${state}, instead of ${expected}`);
      }
      const own = results.flatMap((result) => (result.state === 'claimed' ? [result.claim] : []));
      const lost = claimed.map((claim) => ({ ...claim, version: crypto.randomUUID() }));
      const claims = [...own.slice(0, 5), ...lost, ...own.slice(5)];
      const completed = await Promise.all(
        claims.map((claim) =>
          journal.complete(claim, { state: 'completed', result: { reference: `TXN-of-${claim.key}` } }),
        ),
      );
      for (const [index, { key }] of claims.entries()) {
        const isOwn = free.includes(key);
        assert(completed[index] === isOwn, `one of many completions at once returned ${completed[index]}`);
        const reference = (await other.read(key))?.reference;
        const expected = isOwn ? `TXN-of-${key}` : undefined;
        assert(reference === expected, `one of many records written at once has ${reference}`);
      }
    },
  },
];
