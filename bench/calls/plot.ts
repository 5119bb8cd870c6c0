import { median } from '../median.ts';
import { bars } from '../plots/bars.ts';
import { writePicture } from '../plots/svg.ts';
import type { Row } from './child.ts';

export function plotCalls(rows: readonly Row[], many: number): void {
  const cpu = (costs: Row['many']) => median(costs.map((cost) => cost.cpu));
  const sorted = rows.toSorted((one, other) => cpu(one.many) - cpu(other.many));
  const bare = rows.find(({ name }) => name === 'fetch');
  const group = (name: string, of: (row: Row) => Row['many']) =>
    sorted.map((row) => {
      const value = cpu(of(row));
      const times = bare ? `, ${(value / cpu(of(bare))).toFixed(2)}×` : '';
      const note = `${Math.round(value)} µs${times}`;
      return { label: row.label, value, note, isOurs: row.name.startsWith('ours'), group: name };
    });
  writePicture({
    name: 'cpu-per-call',
    title: 'CPU for each call',
    subtitle:
      'The same GET of one transaction over loopback: CPU of the calling process, and times that of bare fetch',
    command: 'npm run bench calls -- --plot',
    width: 900,
    height: 28 * sorted.length + 28,
    plot: bars([
      ...group(`${many} calls at once`, (row) => row.many),
      ...group('one call after the other', (row) => row.alone),
    ]),
  });
}
