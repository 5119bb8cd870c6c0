import type { Stories } from '../story.ts';

export const migrate: Stories = {};
