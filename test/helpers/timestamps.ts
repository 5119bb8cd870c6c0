import { REFERENCE } from './calls.ts';
import { settled, timed } from './fake-clock.ts';
import { scriptedService } from './scripted-service.ts';

/** A service that says pending, and `success` from so many milliseconds on. */
export function successFrom(moment: number, options = {}) {
  const began = performance.now();
  return scriptedService(() => (performance.now() - began < moment ? 'pending' : 'success'), options);
}

/** When polls left, in milliseconds. */
export const momentsOf = (seen: { at: number }[]) => seen.map(({ at }) => at);

/** When the polls of a wait leave that shares them with nobody. */
export async function momentsOfOneWait(success: number, timeout?: number) {
  const { client, seen } = successFrom(success);
  await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout })));
  return momentsOf(seen);
}
