import type { Stories } from '../story.ts';

export const runbook: Stories = {};
