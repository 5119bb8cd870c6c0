import { drawSize, NAME, type SizeFigures } from '../plots/drawings/bundle-size.ts';
import { describeRun, saveFigures } from '../plots/figures.ts';
import { writePicture } from '../plots/svg.ts';

/** The size of a package in a bundle and in `node_modules`, in bytes. */
export interface Row {
  label: string;
  minified: number;
  compressed: number;
  /** Without dependencies. `undefined` for an entry point. */
  unpacked: number | undefined;
  /** Of ours: the part that is code. The rest is pages and examples. */
  code?: number | undefined;
}

export function plotSize(rows: readonly Row[]): void {
  const figures: SizeFigures = {
    ...describeRun(),
    rows: rows.map(({ label, compressed }) => ({ label, kB: Math.round(compressed / 10) / 100 })),
  };
  saveFigures(NAME, figures);
  writePicture(drawSize(figures));
}
