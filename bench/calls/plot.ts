import { median } from '../median.ts';
import { type CallFigures, drawCalls, NAME } from '../plots/drawings/cpu-per-call.ts';
import { describeRun, saveFigures } from '../plots/figures.ts';
import { writePicture } from '../plots/svg.ts';
import type { Row } from './child.ts';

export function plotCalls(rows: readonly Row[]): void {
  const bare = rows.find(({ name }) => name === 'fetch');
  if (!bare) throw new Error('The picture compares with fetch. Add fetch to --only.');
  const cpu = (costs: Row['many']) => median(costs.map((cost) => cost.cpu));
  const toBare = (row: Row, way: 'alone' | 'many') =>
    Math.round((100 * cpu(row[way])) / cpu(bare[way])) / 100;
  const figures: CallFigures = {
    ...describeRun(),
    rows: rows.map((row) => ({
      label: row.label,
      alone: toBare(row, 'alone'),
      many: toBare(row, 'many'),
      isOurs: row.name.startsWith('ours'),
    })),
  };
  saveFigures(NAME, figures);
  writePicture(drawCalls(figures));
}
