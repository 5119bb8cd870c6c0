import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JournalStore, RecordChange, RecordWrite, StoredRecord } from '../../src/journal/index.ts';
import { writeText } from '../../src/journal/record.ts';
import { nextTurn } from '../../src/timing.ts';
import { catchError } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

/** What happens to one statement of a store. */
interface Fate {
  readonly fault: 'none' | 'before' | 'after';
  /** How many writes of a group are not tried: every n-th; 0: none. */
  readonly skipEach: number;
  readonly turns: number;
}

/** A store whose statements fail before or after they are executed. It keeps the history of each record. */
function faultyGroups(fates: readonly Fate[]) {
  const histories = new Map<string, RecordChange[]>();
  let statements = 0;
  let grouped = 0;
  const latest = (key: string) => histories.get(key)?.at(-1);
  const apply = ({ key, change }: RecordWrite) => {
    if ((latest(key)?.version ?? null) !== change.expected) return false;
    histories.set(key, [...(histories.get(key) ?? []), change]);
    return true;
  };
  const runStatement = async <T>(execute: (fate: Fate) => T): Promise<T> => {
    const fate = fates[statements++ % fates.length] ?? { fault: 'none', skipEach: 0, turns: 0 };
    if (fate.fault === 'before') throw new Error('not executed');
    for (let turn = 0; turn < fate.turns; turn++) await nextTurn();
    const result = execute(fate);
    if (fate.fault === 'after') throw new Error('result lost');
    return result;
  };
  const store: JournalStore = {
    read: async (key): Promise<StoredRecord | null> => {
      const found = latest(key);
      return found ? { version: found.version, text: found.text, age: 0 } : null;
    },
    write: (key, change) => runStatement(() => apply({ key, change })),
    writeAll: (writes) =>
      runStatement(({ skipEach }) => {
        expect(new Set(writes.map(({ key }) => key)).size).toBe(writes.length);
        expect(new Set(writes.map(({ change }) => change.mustCommit)).size).toBe(1);
        grouped += writes.length;
        return writes.map((write, index) => ((index + 1) % skipEach === 0 ? undefined : apply(write)));
      }),
  };
  return { store, histories, countGrouped: () => grouped };
}

const fate: fc.Arbitrary<Fate> = fc.record({
  fault: fc.constantFrom('none', 'none', 'before', 'after'),
  skipEach: fc.nat({ max: 3 }),
  turns: fc.nat({ max: 2 }),
});

/** A caller writes a record twice, the second time on top of its first write. */
const caller = fc.record({ key: fc.constantFrom('a', 'b', 'c'), mustCommit: fc.boolean(), turns: fc.nat({ max: 3 }) });

test('gives each write of a group its own result (property)', async () => {
  let grouped = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { minLength: 1 }), fc.array(caller, { minLength: 2 }), async (fates, callers) => {
      const { store, histories, countGrouped } = faultyGroups(fates);
      const wasApplied = (key: string, version: string) =>
        histories.get(key)?.some((change) => change.version === version) === true;
      await Promise.all(
        callers.map(async ({ key, mustCommit, turns }, index) => {
          for (let turn = 0; turn < turns; turn++) await nextTurn();
          let expected: string | null = null;
          for (const step of [1, 2]) {
            const version = `${index}.${step}`;
            const change = { expected, version, text: version, mustCommit, index: null, dueIn: null };
            const written = await writeText(store, key, change).catch(() => undefined);
            // A write whose result was lost can be replaced before it is read: the caller then reads that it was.
            const isLost = written !== true && fates.some(({ fault }) => fault === 'after');
            if (!isLost) expect(written === true).toBe(wasApplied(key, version));
            if (written !== true) return;
            expected = version;
          }
        }),
      );
      for (const history of histories.values())
        for (const [index, change] of history.entries())
          expect(change.expected).toBe(history[index - 1]?.version ?? null);
      grouped += countGrouped();
    }),
    { numRuns: chooseSize(300, 3000) },
  );
  expect(grouped).toBeGreaterThan(100);
});
