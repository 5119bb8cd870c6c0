import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pictures } from '../../../bench/plots/pictures.ts';
import { drawPicture } from '../../../bench/plots/svg.ts';

/** A phone of 390 pixels, without the margins of the page. */
const PHONE = 358;
const SMALLEST = 9;

const files = globSync('docs/images/*.svg').toSorted();
const read = (file: string) => readFileSync(file, 'utf8');

test('draws every vector picture of the docs', () => {
  expect(files).toEqual(pictures.map(({ name }) => `docs/images/${name}.svg`).toSorted());
});

test.each(pictures)('$name is as its source draws it', (picture) => {
  // `node bench/plots/draw.ts` writes it.
  expect(read(`docs/images/${picture.name}.svg`)).toBe(drawPicture(picture));
});

test.each(files)('%s is legible on a phone', (file) => {
  const [, width = Number.NaN] = read(file).match(/viewBox="0 0 (\d+) \d+"/) ?? [];
  const texts = [...read(file).matchAll(/<text[^>]*>/g)].map(([tag]) => tag);
  expect(texts.length).toBeGreaterThan(5);
  const sizes = texts.map((tag) => Number(tag.match(/font-size="([\d.]+)"/)?.[1]));
  expect((Math.min(...sizes) * PHONE) / Number(width)).toBeGreaterThanOrEqual(SMALLEST);
});

test.each(files)('%s has a title and dark colours', (file) => {
  expect(read(file)).toMatch(/<title>[^<]{20,}<\/title>/);
  expect(read(file)).toContain('@media (prefers-color-scheme: dark)');
});
