import fc from 'fast-check';
import { afterAll, vi } from 'vitest';
import { findLeftovers, readSurroundings } from './leftovers.ts';
import './patient-waits.ts';

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

// test/vitest.config.ts sets it. The next file meets what this one leaves.
if (process.env.SHARES_WORKER) {
  const before = readSurroundings();
  afterAll(() => {
    vi.restoreAllMocks();
    const leftovers = findLeftovers(before);
    if (leftovers.length > 0) throw new Error(`This file leaves changed: ${leftovers.join(', ')}.`);
  });
}
