import type { Stories } from '../story.ts';

export const events: Stories = {};
