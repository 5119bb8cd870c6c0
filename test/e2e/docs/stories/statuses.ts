import type { Stories } from '../story.ts';

export const statuses: Stories = {};
