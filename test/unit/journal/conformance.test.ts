import { describe, expect, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { wrongJournals } from './broken-journals.ts';
import { wrongStores } from './broken-stores.ts';
import { caseNamed, DIES, deciding, LATE } from './conformance-cases.ts';
import { storesThatChangeText } from './stores-that-change-text.ts';

describe('a correct store', () => {
  test.concurrent.each(journalConformance(deciding({})))('$name', ({ run }) => run());

  const slow = deciding({
    ageOf: ({ writtenAt }) => Math.floor((performance.now() - writtenAt) / 1000) * 1000,
  });
  test.concurrent.each([DIES, LATE])('passes with a clock of whole seconds: %s', (name) =>
    caseNamed(name, slow),
  );
});

describe('finds a broken store', () => {
  test.concurrent.each([...wrongStores, ...storesThatChangeText])(
    '$what: $found',
    async ({ open, found, says }) => {
      await expect(caseNamed(found, open)).rejects.toThrow(says);
    },
  );
});

describe('finds a broken journal', () => {
  test.concurrent.each(wrongJournals)('$what: $found', async ({ open, found, says }) => {
    await expect(caseNamed(found, open)).rejects.toThrow(says);
  });
});

test('has a broken store or journal for every case', () => {
  const names = new Set(
    [...wrongStores, ...storesThatChangeText, ...wrongJournals].map(({ found }) => found),
  );
  expect(journalConformance(deciding({})).map(({ name }) => name)).toEqual(
    expect.arrayContaining([...names]),
  );
  expect(names.size).toBe(journalConformance(deciding({})).length);
});
