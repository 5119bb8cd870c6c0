import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { faults, putIn } from './faults.ts';

test.each(faults)('a fault can be put in: $id', (fault) => {
  const text = readFileSync(fault.file, 'utf8');
  expect(putIn(text, fault)).not.toBe(text);
});

test('each fault has an id of its own', () => {
  expect(new Set(faults.map(({ id }) => id)).size).toBe(faults.length);
});
