import { readFileSync } from 'node:fs';

const names = ['base.css', 'icon.svg'] as const;

/** The style and the icon that all pages share. The build puts their texts in place of this file: tsup.config.ts. */
export const texts = Object.fromEntries(
  names.map((name) => [name, readFileSync(new URL(name, import.meta.url), 'utf8')]),
);
