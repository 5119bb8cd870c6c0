import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap, type HeapItem } from '../../../src/polling/heap.ts';
import { chooseSize } from '../../helpers/sized.ts';

interface Item extends HeapItem {
  id: number;
}

const due = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true }).map((time) => time + 0),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);

type Step = ['put', number, number] | ['remove', number] | ['take'];

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('put' as const), fc.nat(39), due) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('remove' as const), fc.nat(39)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('take' as const)) },
);

/** Creates a heap and a plain set with the same items. */
function underTest() {
  const items = Array.from({ length: 40 }, (_, id): Item => ({ id, dueAt: 0, heapIndex: -1 }));
  const heap = new Heap<Item>();
  const inside = new Set<Item>();
  const remove = (item: Item | undefined) => {
    if (!item) return;
    heap.remove(item);
    inside.delete(item);
  };
  const run = ([name, id, time]: Step) => {
    if (name === 'take') return remove(heap.first);
    const item = items[id];
    if (name === 'remove' || !item) return remove(item);
    heap.upsert(item, time);
    inside.add(item);
  };
  return { heap, items, inside, run, remove };
}

test('keeps an earliest item first and every heapIndex right (property)', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 300, size: 'max' }), (steps) => {
      const { heap, items, inside, run } = underTest();
      for (const each of steps) {
        run(each);
        expect(heap.size).toBe(inside.size);
        expect(heap.first?.dueAt).toBe(
          inside.size === 0
            ? undefined
            : [...inside].reduce((least, item) => (item.dueAt < least.dueAt ? item : least)).dueAt,
        );
        for (const item of items) expect(item.heapIndex !== -1).toBe(inside.has(item));
      }
    }),
    { numRuns: chooseSize(20, 100) },
  );
});

test('returns all items in order, each once (property)', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 300, size: 'max' }), (steps) => {
      const { heap, inside, run, remove } = underTest();
      for (const each of steps) run(each);
      const expected = [...inside].map((item) => item.dueAt).sort((a, b) => (a < b ? -1 : 1));
      const taken: number[] = [];
      while (heap.first) {
        taken.push(heap.first.dueAt);
        remove(heap.first);
      }
      expect(taken).toEqual(expected);
      expect(inside.size).toBe(0);
    }),
  );
});

test('ignores the removal of an item that is not in it', () => {
  const heap = new Heap<Item>();
  heap.remove({ id: 0, dueAt: 5, heapIndex: -1 });
  expect(heap.size).toBe(0);
  expect(heap.first).toBeUndefined();
});

test('keeps items that are never due behind the others', () => {
  const heap = new Heap<Item>();
  const never: Item = { id: 0, dueAt: 0, heapIndex: -1 };
  const soon: Item = { id: 1, dueAt: 0, heapIndex: -1 };
  heap.upsert(never, Number.POSITIVE_INFINITY);
  heap.upsert(soon, 5);
  expect(heap.first).toBe(soon);
  heap.remove(soon);
  expect(heap.first).toBe(never);
});
