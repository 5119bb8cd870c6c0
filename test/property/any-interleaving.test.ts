import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { fakeClocks, pass, turns } from '../unit/idempotency/clocks.ts';
import { world } from '../unit/idempotency/world.ts';
import { commands } from './interleavings.ts';

test('whatever calls, faults, deaths, aborts and settlings come in whatever order, no key is charged twice unless a person freed it', async () => {
  fakeClocks();
  const tally = { sent: 0, made: 0, freed: 0 };
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const { begin, resolve, judge, sent, freed } = world();
      for (const command of list) {
        if (command.does === 'call') begin(command);
        if (command.does === 'resolve') await resolve(command);
        if (command.does === 'pass') await pass(command.time, 1_000);
        await turns(3);
      }
      await pass(120_000, 2_000);
      expect(await judge()).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
      tally.sent += sent.length;
      tally.made += sent.filter(({ made }) => made).length;
      tally.freed += freed.length;
    }),
    { numRuns: 300 },
  );
  expect(tally.sent).toBeGreaterThan(300);
  expect(tally.made).toBeGreaterThan(150);
  expect(tally.freed).toBeGreaterThan(10);
}, 120_000);
