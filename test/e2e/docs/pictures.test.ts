import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pictures } from '../../../bench/plots/pictures.ts';
import { drawPicture } from '../../../bench/plots/svg.ts';

const files = globSync('docs/images/*.svg').toSorted();
const read = (file: string) => readFileSync(file, 'utf8');

test('draws every vector picture of the docs', () => {
  expect(files).toEqual(pictures.map(({ name }) => `docs/images/${name}.svg`).toSorted());
});

test.each(pictures)('$name is as its source draws it', (picture) => {
  // `node bench/plots/draw.ts` writes it.
  expect(read(`docs/images/${picture.name}.svg`)).toBe(drawPicture(picture));
});

test.each(files)('%s has a title and dark colours', (file) => {
  expect(read(file)).toMatch(/<title>[^<]{20,}<\/title>/);
  expect(read(file)).toContain('@media (prefers-color-scheme: dark)');
});
