import type { Stories } from '../story.ts';

export const goingLive: Stories = {};
