import fc from 'fast-check';
import { vi } from 'vitest';

// Vitest gives up after a second, which a busy machine can take for anything.
const { waitFor, waitUntil } = vi;
vi.waitFor = (callback, options) => waitFor(callback, allowBusyMachine(options));
vi.waitUntil = (callback, options) => waitUntil(callback, allowBusyMachine(options));

function allowBusyMachine(options: Parameters<typeof waitFor>[1]) {
  return { timeout: 30_000, ...(typeof options === 'number' ? { timeout: options } : options) };
}

// test/common.ts sets it.
const seed = Number(process.env.PROPERTY_SEED);
fc.configureGlobal({ seed });

// The jitter of delays decides what happens first, so it has to be the same for the same seed. This is mulberry32.
let state = seed;
Math.random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let bits = Math.imul(state ^ (state >>> 15), 1 | state);
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
};
