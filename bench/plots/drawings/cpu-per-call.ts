import { drawBars } from '../bars.ts';
import type { Picture, Source } from '../svg.ts';

export const NAME = 'cpu-per-call';

export interface CallFigures extends Source {
  /** CPU as a multiple of a bare fetch, one call after the other and many at once. */
  rows: readonly { label: string; alone: number; many: number; isOurs: boolean }[];
}

export function drawCalls({ rows, ...source }: CallFigures): Picture {
  const sorted = rows.toSorted((one, other) => one.alone - other.alone);
  const format = (value: number) => value.toFixed(2);
  return {
    name: NAME,
    title: 'CPU for each call',
    subtitle: 'CPU of one verify over loopback, as a multiple of a bare fetch. Less is better.',
    source,
    body: drawBars(
      sorted.map(({ label, alone, many, isOurs }) => ({
        label,
        values: [alone, many],
        note: `${format(alone)}, ${format(many)}`,
        isOurs,
      })),
      ['one call after the other', '32 calls at once'],
    ),
  };
}
