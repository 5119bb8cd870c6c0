import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { fakeClocks, pass, turns } from '../helpers/fake-timers.ts';
import { finish } from '../helpers/follow-ups.ts';
import { chooseSize } from '../helpers/sized.ts';
import { type FollowUpCommand, followUpCommands, healthyProcess } from './follow-up-interleavings.ts';
import { simulateFollowUps } from './simulated-follow-ups.ts';

type Simulation = ReturnType<typeof simulateFollowUps>;

async function execute(simulation: Simulation, command: FollowUpCommand): Promise<void> {
  const { chargeOnce, startProcess, notify, resolve, processes } = simulation;
  if (command.does === 'charge') await finish(chargeOnce(command));
  if (command.does === 'start') startProcess(command);
  if (command.does === 'notify') await finish(notify(command.index));
  if (command.does === 'resolve') await finish(resolve(command.index));
  if (command.does === 'kill') processes[command.index % Math.max(1, processes.length)]?.kill();
  if (command.does === 'pass') await pass(command.time, 500);
  await turns(3);
}

/** Returns a generator of numbers from 0 to 1: mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('forgets no payment, and repeats nothing without a cause (property)', async () => {
  const numRuns = chooseSize(50, 100);
  fakeClocks();
  const tally = { payments: 0, finals: 0, attentions: 0, gets: 0, kills: 0, faults: 0, throws: 0 };
  await fc.assert(
    fc.asyncProperty(followUpCommands, fc.integer(), async (commands, seed) => {
      // The jitter, so that a failure can be repeated.
      vi.spyOn(Math, 'random').mockImplementation(createRandom(seed));
      const simulation = simulateFollowUps();
      for (const command of commands) await execute(simulation, command);
      const { startProcess, endAll, judge, payments, finals, attentions, gets, disturbances } = simulation;
      startProcess(healthyProcess);
      // The lease of what was killed, the longest plan of a charge, the deadline and the first slow pauses.
      await pass(360_000, 1_000);
      await finish(endAll());
      expect(judge()).toEqual([]);
      await pass(60_000, 10_000);
      expect(vi.getTimerCount()).toBe(0);
      tally.payments += payments.length;
      tally.finals += finals.length;
      tally.attentions += attentions.length;
      tally.gets += gets.length;
      tally.kills += disturbances.kills;
      tally.faults += disturbances.faults;
      tally.throws += disturbances.throws;
    }),
    { numRuns },
  );
  expect(tally.payments).toBeGreaterThan(2 * numRuns);
  expect(tally.finals).toBeGreaterThan(numRuns);
  expect(tally.attentions).toBeGreaterThan(0.5 * numRuns);
  expect(tally.kills).toBeGreaterThan(0.3 * numRuns);
  expect(tally.faults).toBeGreaterThan(0.2 * numRuns);
  expect(tally.throws).toBeGreaterThan(0.2 * numRuns);
});
