import { describe, expect, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';
import { brokenLists } from './broken-lists.ts';
import { brokenStores } from './broken-stores.ts';
import { pause, runCase, shareStores } from './conformance-cases.ts';

describe('memoryStore', () => {
  test.each(journalConformance(shareStores()))('$name', ({ run }) => runOnFakeClocks(run));
});

describe('a slow store', () => {
  const open = shareStores(({ read, write, claimDue }) => ({
    read: (key) => pause(15).then(() => read(key)),
    write: (key, change) => pause(700).then(() => write(key, change).finally(() => pause(700))),
    claimDue: (claim) => pause(150).then(() => claimDue(claim).finally(() => pause(700))),
  }));
  test.each(journalConformance(open))('passes: $name', ({ run }) => runOnFakeClocks(run));
});

const broken = Object.entries({ ...brokenStores, ...brokenLists });

describe.each(broken)('finds a store that breaks a promise: %s', (name, stores) => {
  test.each(Object.entries(stores))('%s', async (_what, [says, open]) => {
    await expect(runOnFakeClocks(() => runCase(name, open))).rejects.toThrow(says);
  });
});

test('has a broken store for every case', () => {
  const names = journalConformance(shareStores()).map(({ name }) => name);
  expect(broken.map(([name]) => name).toSorted()).toEqual(names.toSorted());
});
