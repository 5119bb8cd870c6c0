import { drawBars } from '../bars.ts';
import type { Picture, Source } from '../svg.ts';

export const NAME = 'bundle-size';

export interface SizeFigures extends Source {
  rows: readonly { label: string; kB: number }[];
}

export function drawSize({ rows, ...source }: SizeFigures): Picture {
  const sorted = rows.toSorted((one, other) => one.kB - other.kB);
  return {
    name: NAME,
    title: 'Bundle size',
    subtitle:
      'A bundle for Node with all dependencies, minified by esbuild, compressed by brotli. Less is better.',
    source,
    body: drawBars(
      sorted.map(({ label, kB }) => ({
        label,
        values: [kB],
        note: `${kB.toFixed(1)} kB`,
        isOurs: label.startsWith('ours'),
      })),
    ),
  };
}
