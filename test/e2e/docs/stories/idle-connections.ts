import type { Stories } from '../story.ts';

export const idleConnections: Stories = {};
