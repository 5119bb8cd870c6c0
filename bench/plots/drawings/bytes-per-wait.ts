import { drawBars } from '../bars.ts';
import type { Picture, Source } from '../svg.ts';

export const NAME = 'bytes-per-wait';

export interface WaitFigures extends Source {
  rows: readonly { label: string; waits: number; bytes: number; isOurs: boolean }[];
}

export function drawWaits({ rows, ...source }: WaitFigures): Picture {
  const format = (count: number) => count.toLocaleString('en-US');
  const sorted = rows.toSorted((one, other) => one.bytes - other.bytes);
  return {
    name: NAME,
    title: 'Memory of each wait',
    subtitle:
      'Heap for each of 100,000 pending waits (or as many as named) with a .then, after a full collection. Less is better.',
    source,
    body: drawBars(
      sorted.map(({ label, waits, bytes, isOurs }) => ({
        label: waits < 100_000 ? `${label}, ${format(waits)}` : label,
        values: [bytes],
        note: `${format(bytes)} bytes`,
        isOurs,
      })),
    ),
  };
}
