import type { Stories } from '../story.ts';

export const mobileMoney: Stories = {};
