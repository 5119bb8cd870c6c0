import { drawSchedules, NAME, type ScheduleFigures } from '../plots/drawings/delay-against-requests.ts';
import { describeRun, saveFigures } from '../plots/figures.ts';
import { writePicture } from '../plots/svg.ts';
import type { Row } from './simulate.ts';

export function plotSchedules(rows: readonly Row[], waits: number): void {
  const round = (value: number) => Math.round(100 * value) / 100;
  const figures: ScheduleFigures = {
    ...describeRun(),
    waits,
    rows: rows.map(({ name, requests, paid }) => ({
      name,
      requests: round(requests),
      delay: round(paid.mean),
    })),
  };
  saveFigures(NAME, figures);
  writePicture(drawSchedules(figures));
}
