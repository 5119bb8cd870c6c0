import { drawWaits, NAME, type WaitFigures } from '../plots/drawings/bytes-per-wait.ts';
import { describeRun, saveFigures } from '../plots/figures.ts';
import { writePicture } from '../plots/svg.ts';
import type { Pending } from './measure.ts';
import type { Measured } from './report.ts';

/** Draws the heap of each wait. Each way to wait is shown at its largest count, up to 100,000 waits. */
export function plotWaits(rows: readonly Measured<Pending>[]): void {
  const most = new Map<string, WaitFigures['rows'][number]>();
  for (const { name, label, count, figures } of rows) {
    const before = most.get(name);
    if (figures && count <= 100_000 && (before === undefined || before.waits < count))
      most.set(name, { label, waits: count, bytes: Math.round(figures.bytes), isOurs: name === 'ours' });
  }
  const figures: WaitFigures = { ...describeRun(), rows: [...most.values()] };
  saveFigures(NAME, figures);
  writePicture(drawWaits(figures));
}
