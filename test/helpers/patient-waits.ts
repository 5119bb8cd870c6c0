import { vi } from 'vitest';

// Vitest gives up after a second, which a busy machine can take for anything.
const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, allowBusyMachine(options));
vi.waitUntil = (callback, options) => waitUntil(callback, allowBusyMachine(options));

function allowBusyMachine(options: Parameters<typeof waitFor>[1]) {
  return { timeout: 30_000, ...(typeof options === 'number' ? { timeout: options } : options) };
}
