import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { createJournal } from '../../../src/journal/index.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';
import { createFaultyStore, type StoredEntry } from '../../helpers/faulty-store.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { catchError } from '../../helpers/service.ts';
import {
  BY_REFERENCE,
  COUNTED,
  caseNamed,
  DELETED,
  deciding,
  EARLIEST,
  LISTED,
  NEXT_STEP,
  SHARED,
  shared,
  WITHOUT_DELETE,
  WITHOUT_FOLLOW_UPS,
  WITHOUT_LIST,
} from './conformance-cases.ts';

/** A store that keeps charges, and has none of the optional methods. */
const chargesOnly = shared((records) => {
  const { read, write } = createFaultyStore(records);
  return { read, write };
});

const withoutList = shared((records) => {
  const { list: _, count: _count, ...store } = createFaultyStore(records);
  return store;
});

const withoutFollowUps = shared((records) => {
  const { claimDue: _, countDue: _count, ...store } = createFaultyStore(records);
  return store;
});

const withoutCount = shared((records) => {
  const { count: _, ...store } = createFaultyStore(records);
  return store;
});

const names = (...parts: ('list' | 'followUps' | 'prune')[]) =>
  journalConformance(chargesOnly, { without: parts }).map(({ name }) => name);

describe('a store without the optional methods', () => {
  const cases = journalConformance(chargesOnly, { without: ['list', 'followUps', 'prune'] });
  test.each(cases)('charges: $name', ({ run }) => runOnFakeClocks(run));

  test('is told which method is missing, by each method that needs it', async () => {
    const { read, write } = createFaultyStore(new Map<string, StoredEntry>());
    const journal = createJournal({ read, write });
    const uses: [string, () => Promise<unknown>][] = [
      ['list', () => listKeys(journal)],
      ['list', () => listKeys(journal, { reference: 'TXN-1' })],
      ['list', () => journal.count()],
      ['list', () => getJournalCore(journal).followUps.find('TXN-1')],
      ['claimDue', () => getJournalCore(journal).followUps.claimDue({ kind: 'key', limit: 1, lease: 1_000 })],
      ['countDue', () => getJournalCore(journal).followUps.countDue({ kind: 'key' })],
    ];
    for (const [method, use] of uses) {
      const refusal = await catchError(use());
      expect(refusal).toMatchObject({ name: 'ConfigurationError' });
      expect(refusal).toHaveProperty('message', expect.stringContaining(`has no ${method},`));
    }
  });

  test.each([LISTED, BY_REFERENCE, COUNTED])('fails, with what to do: %s', async (name) => {
    const failing = caseNamed(name, withoutList);
    await expect(failing).rejects.toThrow('has no list, so it cannot do this');
    await expect(failing).rejects.toThrow("If that is on purpose, pass { without: ['list'] }");
  });

  test.each([EARLIEST, SHARED, NEXT_STEP])('fails, with what to do: %s', async (name) => {
    const failing = caseNamed(name, withoutFollowUps);
    await expect(failing).rejects.toThrow('has no claimDue, so it cannot do this');
    await expect(failing).rejects.toThrow("If that is on purpose, pass { without: ['followUps'] }");
  });

  test('passes all other cases if it has lists or follow-ups only', async () => {
    const lists = journalConformance(withoutFollowUps, { without: ['followUps'] });
    const followUps = journalConformance(withoutList, { without: ['list'] });
    await Promise.all([...lists, ...followUps].map(({ run }) => runOnFakeClocks(run)));
  });

  test('fails, with what to do, if it has no delete', async () => {
    const failing = caseNamed(DELETED, chargesOnly);
    await expect(failing).rejects.toThrow('has no delete, so it cannot do this');
    await expect(failing).rejects.toThrow("If that is on purpose, pass { without: ['prune'] }");
  });

  test('counts page by page without a count', () => caseNamed(COUNTED, withoutCount));
});

describe('without', () => {
  test('replaces the cases of a part by one that tries it', () => {
    const all = names();
    const without = new Set(names('list', 'followUps', 'prune'));
    expect(all).not.toContain(WITHOUT_LIST);
    expect(all).not.toContain(WITHOUT_FOLLOW_UPS);
    expect(all.filter((name) => !without.has(name))).toHaveLength(6 + 7 + 1);
    expect([...without].filter((name) => !all.includes(name))).toEqual([
      WITHOUT_LIST,
      WITHOUT_FOLLOW_UPS,
      WITHOUT_DELETE,
    ]);
    expect(all).not.toContain(WITHOUT_DELETE);
    expect(names('list')).toContain(EARLIEST);
    expect(names('followUps')).toContain(LISTED);
  });

  test('fails if the store has the method', async () => {
    await expect(caseNamed(WITHOUT_LIST, deciding({}), { without: ['list'] })).rejects.toThrow(
      'the journal has list: remove it from "without"',
    );
    await expect(caseNamed(WITHOUT_FOLLOW_UPS, deciding({}), { without: ['followUps'] })).rejects.toThrow(
      'the journal has claimDue: remove it from "without"',
    );
    await expect(caseNamed(WITHOUT_DELETE, deciding({}), { without: ['prune'] })).rejects.toThrow(
      'the journal has delete: remove it from "without"',
    );
  });

  test.each([
    ...['list', [17], ['lists'], null].map((without) => [{ without }, 'without must be a list'] as const),
    [{ witout: [] }, 'Unknown option "witout". Did you mean without?'],
  ] as const)('refuses %j', (options, message) => {
    const refused = () => Reflect.apply(journalConformance, undefined, [chargesOnly, options]);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(message);
  });
});
