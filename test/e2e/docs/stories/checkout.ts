import type { Stories } from '../story.ts';

export const checkout: Stories = {};
