import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { fakeClocks, pass, turns } from '../helpers/fake-timers.ts';
import { chooseSize } from '../helpers/sized.ts';
import { commands, type StoreFault, storeFaults } from './interleavings.ts';
import { simulateProcesses } from './simulated-processes.ts';

test('never charges a key twice unless a person freed it (property)', async () => {
  const numRuns = chooseSize(120, 300);
  fakeClocks();
  const tally = { sent: 0, made: 0, freed: 0, faults: new Set<StoreFault>() };
  await fc.assert(
    fc.asyncProperty(commands, async (list) => {
      const { startCall, resolve, judge, sent, freed, faults } = simulateProcesses();
      for (const command of list) {
        if (command.does === 'call') startCall(command);
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
      for (const fault of faults) tally.faults.add(fault);
    }),
    { numRuns },
  );
  expect(tally.sent).toBeGreaterThan(numRuns);
  expect(tally.made).toBeGreaterThan(numRuns / 2);
  expect(tally.freed).toBeGreaterThan(numRuns / 30);
  expect([...tally.faults].sort()).toEqual([...storeFaults, 'none'].sort());
});
