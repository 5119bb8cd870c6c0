import * as Plot from '@observablehq/plot';
import { OTHERS, OURS } from './svg.ts';

/** One bar: its length, and the text at its end. */
export interface Bar {
  label: string;
  value: number;
  note: string;
  isOurs: boolean;
  /** Groups of bars are side by side. */
  group?: string;
}

/** Creates horizontal bars in the given order, with labels instead of an axis. */
export function bars(rows: readonly Bar[]): Plot.PlotOptions {
  const isGrouped = rows.some(({ group }) => group !== undefined);
  const group = isGrouped ? { fx: 'group' } : {};
  const longest = Math.max(...rows.map(({ label }) => label.length));
  return {
    marginLeft: 8 + 6.6 * longest,
    marginRight: 96,
    marginTop: isGrouped ? 26 : 4,
    marginBottom: 2,
    x: { axis: null },
    y: { label: null, domain: [...new Set(rows.map(({ label }) => label))], tickSize: 0 },
    ...(isGrouped
      ? { fx: { label: null, axis: 'top', domain: [...new Set(rows.map(({ group }) => group))] } }
      : {}),
    marks: [
      Plot.barX(rows, {
        ...group,
        x: 'value',
        y: 'label',
        fill: ({ isOurs }: Bar) => (isOurs ? OURS : OTHERS),
        insetTop: 2,
        insetBottom: 2,
        rx: 2,
      }),
      Plot.text(rows, { ...group, x: 'value', y: 'label', text: 'note', textAnchor: 'start', dx: 5 }),
    ],
    color: { type: 'identity' },
  };
}
