import type { Stories } from '../story.ts';

export const frameworks: Stories = {};
