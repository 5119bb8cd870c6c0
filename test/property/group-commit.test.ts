import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Records } from '../../src/journal/records.ts';
import type { JournalStore, RecordChange, RecordWrite } from '../../src/stores/index.ts';
import { nextTurn } from '../../src/support/timing.ts';
import { chooseSize } from '../helpers/sized.ts';

/** What happens to one statement of a store. */
interface Fate {
  readonly fault: 'none' | 'before' | 'after';
  /** The place of the first write of a group that is not tried. */
  readonly skipFrom: number;
  readonly turns: number;
}

/** A store whose statements can fail before or after they are executed. It keeps the history of each record. */
function createHistoryStore(fates: readonly Fate[]) {
  const histories = new Map<string, RecordChange[]>();
  const groups: (readonly RecordWrite[])[] = [];
  /** The versions that a statement wrote whose result was lost. */
  const lost = new Set<string>();
  let statements = 0;
  const latest = (key: string) => histories.get(key)?.at(-1);
  const apply = ({ key, change }: RecordWrite) => {
    if ((latest(key)?.version ?? null) !== change.expected) return false;
    histories.set(key, [...(histories.get(key) ?? []), change]);
    return true;
  };
  const runStatement = async (writes: readonly RecordWrite[]) => {
    const { fault, skipFrom, turns } = fates[statements++ % fates.length] ?? fates[0] ?? NO_FAULT;
    if (fault === 'before') throw new Error('not executed');
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    const results = writes.map((write, place) => (place > 0 && place >= skipFrom ? undefined : apply(write)));
    if (fault === 'none') return results;
    for (const [place, { change }] of writes.entries()) if (results[place]) lost.add(change.version);
    throw new Error('result lost');
  };
  const store: JournalStore = {
    read: async (key) => {
      const found = latest(key);
      return { record: found ? { version: found.version, text: found.text } : null, now: 0 };
    },
    write: async (key, change) => (await runStatement([{ key, change }]))[0] === true,
    writeAll: (writes) => {
      groups.push(writes);
      return runStatement(writes);
    },
  };
  return { store, histories, groups, lost, latest };
}

const NO_FAULT: Fate = { fault: 'none', skipFrom: 9, turns: 0 };

const fate: fc.Arbitrary<Fate> = fc.record({
  fault: fc.constantFrom('none', 'none', 'before', 'after'),
  skipFrom: fc.nat({ max: 5 }),
  turns: fc.nat({ max: 2 }),
});

const caller = fc.record({
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  mustCommit: fc.boolean(),
  turns: fc.nat({ max: 3 }),
});

interface Write {
  readonly key: string;
  readonly expected: string | null;
  readonly version: string;
}

/** What a caller was told must be what is stored. */
function expectRightResult(
  { histories, lost, latest }: ReturnType<typeof createHistoryStore>,
  { key, expected, version }: Write,
  written: boolean | undefined,
): void {
  const found = latest(key)?.version ?? null;
  const isApplied = histories.get(key)?.some((change) => change.version === version) === true;
  if (written) {
    expect(isApplied).toBe(true);
    return;
  }
  if (written === false) expect(found).not.toBe(expected);
  expect(found).not.toBe(version);
  // Only one whose result was lost, and that another caller has replaced, can have been made.
  if (isApplied) expect(lost).toContain(version);
}

test('gives each write of a group its own result (property)', async () => {
  let grouped = 0;
  const fates = fc.array(fate, { minLength: 1 });
  const callers = fc.array(caller, { minLength: 2 });
  await fc.assert(
    fc.asyncProperty(fates, callers, async (given, calls) => {
      const stored = createHistoryStore(given);
      const writeTwice = async ({ key, mustCommit, turns }: (typeof calls)[number], name: number) => {
        for (let turn = 0; turn < turns; turn++) await nextTurn();
        let expected: string | null = null;
        for (const version of [`${name}.first`, `${name}.second`]) {
          const change = { expected, version, text: version, mustCommit, index: null };
          const written = await new Records(stored.store, 10_000)
            .compareAndSwap(key, change)
            .catch(() => undefined);
          expectRightResult(stored, { key, expected, version }, written);
          if (!written) return;
          expected = version;
        }
      };
      await Promise.all(calls.map(writeTwice));
      for (const history of stored.histories.values()) {
        const before = [null, ...history.map(({ version }) => version)].slice(0, -1);
        expect(history.map(({ expected }) => expected)).toEqual(before);
      }
      for (const writes of stored.groups) {
        expect(new Set(writes.map(({ key }) => key)).size).toBe(writes.length);
        expect(new Set(writes.map(({ change }) => change.mustCommit)).size).toBe(1);
        grouped += writes.length;
      }
    }),
    { numRuns: chooseSize(300, 3000) },
  );
  expect(grouped).toBeGreaterThan(100);
});
