import type { ResolutionNote } from '../../src/stores/index.ts';

/** Who resolves a key in a test, and why. */
export const note: ResolutionNote = { by: 'kofi@shop.example', reason: 'found by its request id' };
