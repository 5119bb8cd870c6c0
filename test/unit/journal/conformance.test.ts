import { describe, expect, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';
import { createFaultyStore } from '../../helpers/faulty-store.ts';
import { chooseSize } from '../../helpers/sized.ts';
import { wrongJournals } from './broken-journals.ts';
import { brokenLists } from './broken-lists.ts';
import { wrongStores } from './broken-stores.ts';
import {
  caseNamed,
  DIES,
  deciding,
  FIRST_CHECK,
  LATE,
  MANY,
  pause,
  RACE,
  shared,
  TAKEN_AT_ONCE,
} from './conformance-cases.ts';
import { storesThatChangeText } from './stores-that-change-text.ts';

describe('a correct store', () => {
  test.each(journalConformance(deciding({})))('$name', ({ run }) => runOnFakeClocks(run));

  const slow = deciding({
    ageOf: ({ writtenAt }) => Math.floor((performance.now() - writtenAt) / 1000) * 1000,
  });
  test.each([DIES, LATE])('passes with a clock of whole seconds: %s', (name) =>
    runOnFakeClocks(() => caseNamed(name, slow)),
  );
});

describe('a store of which each step takes another time', () => {
  const pauseAtRandom = () => pause(Math.random() < 0.3 ? 15 : 0);
  const slow = (without: 'list' | undefined) =>
    shared((records) => {
      const { list, ...store } = createFaultyStore(records);
      return {
        ...store,
        ...(without ? {} : { list: (query) => pauseAtRandom().then(() => list(query)) }),
        read: (key) => pauseAtRandom().then(() => store.read(key)),
        write: (key, change) =>
          pauseAtRandom().then(async () => {
            const isWritten = await store.write(key, change);
            await pauseAtRandom();
            return isWritten;
          }),
      };
    });
  const races = [TAKEN_AT_ONCE, MANY, RACE].flatMap((name) =>
    Array.from({ length: chooseSize(5, 50) }, (_, round) => [name, round] as const),
  );
  test.each(races)('%s (%d)', (name) => runOnFakeClocks(() => caseNamed(name, slow(undefined))));
  test.each(races)('without list: %s (%d)', (name) =>
    runOnFakeClocks(() => caseNamed(name, slow('list'), { without: ['list'] })),
  );

  test('counts the first check from the claim', () => {
    const open = shared((records) => {
      const store = createFaultyStore(records);
      return { ...store, write: (key, change) => store.write(key, change).finally(() => pause(500)) };
    });
    return runOnFakeClocks(() => caseNamed(FIRST_CHECK, open));
  });
});

describe('finds a broken store', () => {
  test.each([...wrongStores, ...storesThatChangeText, ...brokenLists])(
    '$what: $found',
    async ({ open, found, says }) => {
      await expect(runOnFakeClocks(() => caseNamed(found, open))).rejects.toThrow(says);
    },
  );
});

describe('finds a broken journal', () => {
  test.each(wrongJournals)('$what: $found', async ({ open, found, says }) => {
    await expect(runOnFakeClocks(() => caseNamed(found, open))).rejects.toThrow(says);
  });
});

test('has a broken store or journal for every case', () => {
  const names = new Set(
    [...wrongStores, ...storesThatChangeText, ...brokenLists, ...wrongJournals].map(({ found }) => found),
  );
  expect(journalConformance(deciding({})).map(({ name }) => name)).toEqual(
    expect.arrayContaining([...names]),
  );
  expect(names.size).toBe(journalConformance(deciding({})).length);
});
