import { describe, expect, test } from 'vitest';
import {
  type JournalConformanceOptions,
  journalConformance,
  type OpenStore,
} from '../../../src/developers/mock/index.ts';
import { ConfigurationError } from '../../../src/index.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';
import { brokenStores, pause, shareStores } from './broken-stores.ts';

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

/** Runs the case of a name. */
async function runCase(name: string, open: OpenStore, options?: JournalConformanceOptions) {
  const found = journalConformance(open, options).find((one) => one.name === name);
  if (!found) throw new Error(`There is no case "${name}".`);
  await found.run();
}

test.each(brokenStores)('finds a store that breaks "%s": %s', async (name, says, open) => {
  await expect(runOnFakeClocks(() => runCase(name, open))).rejects.toThrow(says);
});

test('has a broken store for every case', () => {
  const names = journalConformance(shareStores()).map(({ name }) => name);
  expect([...new Set(brokenStores.map(([name]) => name))].toSorted()).toEqual(names.toSorted());
});

const parts = {
  list: ['list', 'count'],
  followUps: ['claimDue', 'countDue'],
  prune: ['delete'],
} as const;
type Part = keyof typeof parts;
const all: readonly Part[] = ['list', 'followUps', 'prune'];

/** A store without the methods of these parts. */
const openWithout = (...without: readonly Part[]) => {
  const missing = without.flatMap((part) => parts[part].map((method) => [method, undefined]));
  return shareStores(() => Object.fromEntries(missing));
};
const nameCases = (...without: Part[]) =>
  journalConformance(openWithout(), { without }).map(({ name }) => name);
const nameWithout = (part: Part) => `keeps records without ${parts[part].join(' and ')}`;

describe('a store without the optional methods', () => {
  const cases = journalConformance(openWithout(...all), { without: all });
  test.each(cases)('$name', ({ run }) => runOnFakeClocks(run));

  test.each(all)('passes all other cases if it has all but %s', async (part) => {
    const others = journalConformance(openWithout(part), { without: [part] });
    await Promise.all(others.map(({ run }) => runOnFakeClocks(run)));
  });

  test.each(all)('fails, with what to do, if it has no %s and does not say so', async (part) => {
    const names = nameCases().filter((name) => !nameCases(part).includes(name));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names)
      await expect(runCase(name, openWithout(part))).rejects.toThrow(
        `The store has no ${parts[part][0]}. If that is on purpose, pass { without: ['${part}'] }`,
      );
  });
});

describe('without', () => {
  test.each(all)('replaces the cases of %s by one that tries the store', (part) => {
    expect(nameCases()).not.toContain(nameWithout(part));
    expect(nameCases(part).filter((name) => !nameCases().includes(name))).toEqual([nameWithout(part)]);
  });

  test.each(all)('fails if the store has the methods of %s', async (part) => {
    await expect(runCase(nameWithout(part), openWithout(), { without: [part] })).rejects.toThrow(
      `the store has ${parts[part][0]}: remove '${part}' from "without"`,
    );
  });

  test.each([
    ...['list', [17], ['lists'], null].map((without) => [{ without }, 'without must be a list'] as const),
    [{ witout: [] }, 'Unknown option "witout". Did you mean without?'],
  ] as const)('refuses %j', (options, message) => {
    const refused = () => Reflect.apply(journalConformance, undefined, [openWithout(), options]);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(message);
  });
});
