import { describe, expect, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';
import { createFaultyStore } from '../../helpers/faulty-store.ts';
import { brokenLists } from './broken-lists.ts';
import { wrongStores } from './broken-stores.ts';
import { COUNTS, caseNamed, DIES, deciding, pause, RACE, shared } from './conformance-cases.ts';
import { storesThatChangeText } from './stores-that-change-text.ts';

describe('a correct store', () => {
  test.each(journalConformance(deciding({})))('$name', ({ run }) => runOnFakeClocks(run));

  const slow = deciding({
    ageOf: ({ writtenAt }) => Math.floor((performance.now() - writtenAt) / 1000) * 1000,
  });
  test.each([DIES, COUNTS])('passes with a clock of whole seconds: %s', (name) =>
    runOnFakeClocks(() => caseNamed(name, slow)),
  );
});

describe('a slow store', () => {
  test.each(['with', 'without'])(`passes %s list: ${RACE}`, (kind) => {
    let steps = 0;
    const pauseSometimes = () => pause(steps++ % 3 === 0 ? 15 : 0);
    const open = shared((records) => {
      const { list, ...store } = createFaultyStore(records);
      return {
        ...store,
        ...(kind === 'with' ? { list: (query) => pauseSometimes().then(() => list(query)) } : {}),
        read: (key) => pauseSometimes().then(() => store.read(key)),
        write: (key, change) => pauseSometimes().then(() => store.write(key, change).finally(pauseSometimes)),
      };
    });
    return runOnFakeClocks(() => caseNamed(RACE, open));
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

test('has a broken store for every case', () => {
  const names = new Set([...wrongStores, ...storesThatChangeText, ...brokenLists].map(({ found }) => found));
  expect(journalConformance(deciding({})).map(({ name }) => name)).toEqual(
    expect.arrayContaining([...names]),
  );
  expect(names.size).toBe(journalConformance(deciding({})).length);
});
