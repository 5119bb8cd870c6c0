import { readFileSync } from 'node:fs';

const names = ['checkout.css', 'phone.css', 'dashboard.css', 'live.js'] as const;

/** The styles and the script of the sandbox's pages. The build puts their texts in place of this file: tsup.config.ts. */
export const texts = Object.fromEntries(
  names.map((name) => [name, readFileSync(new URL(name, import.meta.url), 'utf8')]),
);
