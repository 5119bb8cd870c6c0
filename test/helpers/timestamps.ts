import { REFERENCE } from './calls.ts';
import { settled, timed } from './fake-clock.ts';
import { scriptedService } from './scripted-service.ts';

/** Creates a service that responds with `pending`, and with `success` from this time on, in milliseconds. */
export function successFrom(time: number, options = {}) {
  const startedAt = performance.now();
  return scriptedService(() => (performance.now() - startedAt < time ? 'pending' : 'success'), options);
}

/** Returns the times of the polls, in milliseconds. */
export const momentsOf = (seen: { at: number }[]) => seen.map(({ at }) => at);

/** Returns the times of the polls of a wait that shares them with no other wait. */
export async function momentsOfOneWait(success: number, timeout?: number) {
  const { client, seen } = successFrom(success);
  await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout })));
  return momentsOf(seen);
}
