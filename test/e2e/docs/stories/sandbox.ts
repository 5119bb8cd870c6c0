import type { Stories } from '../story.ts';

export const sandbox: Stories = {};
