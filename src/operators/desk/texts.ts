import { readFileSync } from 'node:fs';

/** The style of the desk. The build puts its text in place of this file: tsup.config.ts. */
export const texts = {
  'desk.css': readFileSync(new URL('desk.css', import.meta.url), 'utf8'),
};
