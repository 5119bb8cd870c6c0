import { vi } from 'vitest';
import { PATIENCE } from './patience.ts';

// Vitest gives up after a second, which a busy machine can take for anything. `expect.poll` has an option for it.
const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, allowBusyMachine(options));
vi.waitUntil = (callback, options) => waitUntil(callback, allowBusyMachine(options));

function allowBusyMachine(options: Parameters<typeof waitFor>[1]) {
  return { timeout: PATIENCE, ...(typeof options === 'number' ? { timeout: options } : options) };
}
