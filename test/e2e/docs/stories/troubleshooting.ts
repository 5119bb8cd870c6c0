import type { Stories } from '../story.ts';

export const troubleshooting: Stories = {};
