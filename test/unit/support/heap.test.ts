import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap, type HeapItem } from '../../../src/support/heap.ts';
import { chooseSize } from '../../helpers/sized.ts';

const due = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);
/** Puts an item at a time, or removes it. */
const step = fc.tuple(fc.nat(39), fc.option(due, { nil: undefined, freq: 3 }));

test('keeps the earliest item first, whatever is put in and removed (property)', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 300, size: 'max' }), (steps) => {
      const items = Array.from({ length: 40 }, (): HeapItem => ({ dueAt: 0, heapIndex: -1 }));
      const heap = new Heap();
      const inside = new Set<HeapItem>();
      const expectSame = () => {
        expect(items.filter(({ heapIndex }) => heapIndex !== -1)).toEqual(
          items.filter((item) => inside.has(item)),
        );
        const earliest = [...inside].map(({ dueAt }) => dueAt).sort((a, b) => (a < b ? -1 : 1))[0];
        expect(heap.first?.dueAt).toBe(earliest);
      };
      const remove = (item: HeapItem) => {
        heap.remove(item);
        inside.delete(item);
        expectSame();
      };
      for (const [index, time] of steps) {
        const item = items[index];
        if (!item) continue;
        if (time === undefined) remove(item);
        else {
          heap.upsert(item, time);
          inside.add(item);
          expectSame();
        }
      }
      while (heap.first) remove(heap.first);
      expect(inside.size).toBe(0);
    }),
    { numRuns: chooseSize(20, 100) },
  );
});
