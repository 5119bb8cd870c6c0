import { readFileSync } from 'node:fs';

const names = ['base.css', 'checkout.css', 'phone.css', 'dashboard.css', 'live.js', 'icon.svg'] as const;

/** The styles, the script and the icon of the pages. The build puts their texts in place of this file: tsup.config.ts. */
export const texts = Object.fromEntries(
  names.map((name) => [name, readFileSync(new URL(name, import.meta.url), 'utf8')]),
);
