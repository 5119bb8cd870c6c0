import type { Stories } from '../story.ts';

export const testing: Stories = {};
