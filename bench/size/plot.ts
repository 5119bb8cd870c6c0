import { bars } from '../plots/bars.ts';
import { writePicture } from '../plots/svg.ts';

/** The size of a package in a bundle and in `node_modules`, in bytes. */
export interface Row {
  label: string;
  minified: number;
  compressed: number;
  /** Without dependencies. `undefined` for an entry point. */
  unpacked: number | undefined;
}

export function plotSize(rows: readonly Row[]): void {
  const sorted = rows.toSorted((one, other) => one.compressed - other.compressed);
  writePicture({
    name: 'bundle-size',
    title: 'Bundle size',
    subtitle:
      'What each package with its dependencies adds to a bundle for Node: minified by esbuild, then brotli',
    command: 'npm run bench size -- --plot',
    height: 30 * sorted.length + 6,
    plot: bars(
      sorted.map(({ label, compressed }) => ({
        label,
        value: compressed / 1_000,
        note: `${(compressed / 1_000).toFixed(1)} kB`,
        isOurs: label.startsWith('ours'),
      })),
    ),
  });
}
