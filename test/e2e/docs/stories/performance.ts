import type { Stories } from '../story.ts';

export const performance: Stories = {};
