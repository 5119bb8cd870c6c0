import { bars } from '../plots/bars.ts';
import { writePicture } from '../plots/svg.ts';
import type { Pending } from './measure.ts';
import type { Measured } from './report.ts';

/** Draws the heap of each wait. Each way to wait is shown at its largest count, up to 100,000 waits. */
export function plotWaits(rows: readonly Measured<Pending>[]): void {
  const most = new Map<string, Measured<Pending>>();
  for (const row of rows) {
    const before = most.get(row.name);
    if (row.figures && row.count <= 100_000 && (before === undefined || before.count < row.count))
      most.set(row.name, row);
  }
  const shown = [...most.values()].flatMap(({ name, label, count, figures }) => {
    if (!figures) return [];
    const bytes = Math.round(figures.bytes).toLocaleString('en-US');
    const few = count < 100_000 ? ` (${count.toLocaleString('en-US')} waits)` : '';
    return [{ label: `${label}${few}`, value: figures.bytes, note: `${bytes} B`, isOurs: name === 'ours' }];
  });
  writePicture({
    name: 'bytes-per-wait',
    title: 'Memory of each wait',
    subtitle: 'Heap for each of 100,000 pending waits and its .then in one process, after a full collection',
    command: 'npm run bench waits -- --plot',
    height: 32 * shown.length + 6,
    plot: bars(shown.toSorted((one, other) => one.value - other.value)),
  });
}
