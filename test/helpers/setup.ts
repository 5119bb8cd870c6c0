import fc from 'fast-check';
import { vi } from 'vitest';

// Their default of one second decides a test when other processes keep the machine busy: the test's own limit ends them.
const { waitFor, waitUntil } = vi;
const withLimit = (options?: Parameters<typeof waitFor>[1]) =>
  typeof options === 'number' ? options : { timeout: 60_000, ...options };
vi.waitFor = (callback, options) => waitFor(callback, withLimit(options));
vi.waitUntil = (callback, options) => waitUntil(callback, withLimit(options));

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
