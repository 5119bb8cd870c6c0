import type { Stories } from '../story.ts';

export const gettingStarted: Stories = {};
