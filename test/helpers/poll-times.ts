import { REFERENCE } from './calls.ts';
import { runToEnd, timeSettlement } from './fake-clock.ts';
import { createScriptedService } from './scripted-service.ts';

/** Creates a service that responds with `pending`, and with `success` from this time on, in milliseconds. */
export function createServiceWithSuccessFrom(time: number, options = {}) {
  const startedAt = performance.now();
  return createScriptedService(() => (performance.now() - startedAt < time ? 'pending' : 'success'), options);
}

/** Returns the times of the polls, in milliseconds. */
export const readPollTimes = (seen: { at: number }[]) => seen.map(({ at }) => at);

/** Returns the times of the polls of a wait that shares them with no other wait. */
export async function measurePollTimes(success: number, timeout?: number) {
  const { client, seen } = createServiceWithSuccessFrom(success);
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout })));
  return readPollTimes(seen);
}
