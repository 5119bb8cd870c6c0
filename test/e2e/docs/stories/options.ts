import type { Stories } from '../story.ts';

export const options: Stories = {};
