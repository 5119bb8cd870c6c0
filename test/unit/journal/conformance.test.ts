import { describe, expect, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { caseNamed, DIES, deciding, LATE } from './conformance-cases.ts';
import { storesThatChangeText } from './stores-that-change-text.ts';
import { wrongJournals } from './wrong-journals.ts';
import { wrongStores } from './wrong-stores.ts';

describe('a right store', () => {
  test.concurrent.each(journalConformance(deciding({})))('$name', ({ run }) => run());

  const slow = deciding({
    ageOf: ({ writtenAt }) => Math.floor((performance.now() - writtenAt) / 1000) * 1000,
  });
  test.concurrent.each([DIES, LATE])('may have a clock of whole seconds: %s', (name) =>
    caseNamed(name, slow),
  );
});

describe('a store that is wrong is found', () => {
  test.concurrent.each([...wrongStores, ...storesThatChangeText])(
    '$what: $found',
    async ({ open, found, says }) => {
      await expect(caseNamed(found, open)).rejects.toThrow(says);
    },
  );
});

describe('a journal that is wrong is found', () => {
  test.concurrent.each(wrongJournals)('$what: $found', async ({ open, found, says }) => {
    await expect(caseNamed(found, open)).rejects.toThrow(says);
  });
});

test('every case finds something', () => {
  const names = new Set(
    [...wrongStores, ...storesThatChangeText, ...wrongJournals].map(({ found }) => found),
  );
  expect(journalConformance(deciding({})).map(({ name }) => name)).toEqual(
    expect.arrayContaining([...names]),
  );
  expect(names.size).toBe(journalConformance(deciding({})).length);
});
