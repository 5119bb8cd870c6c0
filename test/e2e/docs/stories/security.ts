import type { Stories } from '../story.ts';

export const security: Stories = {};
