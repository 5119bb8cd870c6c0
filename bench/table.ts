type Cell = string | number | null | undefined;

/** A column: its head, and its cell for a row. */
export type Column<Row> = readonly [head: string, cell: (row: Row) => Cell];

/** Prints rows in aligned columns: the first column to the left, the others to the right. */
export function printTable<Row>(title: string, rows: readonly Row[], columns: readonly Column<Row>[]): void {
  const heads = columns.map(([head]) => head);
  const body = rows.map((row) => columns.map(([, cell]) => formatCell(cell(row))));
  const widths = columns.map((_, column) =>
    Math.max(...[heads, ...body].map((line) => line[column]?.length ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  const aligned = [heads, rule, ...body].map((line) =>
    line.map((text, column) =>
      column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0),
    ),
  );
  console.log([`\n${title}\n`, ...aligned.map((line) => `  ${line.join('  ')}`.trimEnd())].join('\n'));
}

/** Formats a ratio. 1.00x is the same. */
export function ratio(value: number | null | undefined, of: number | null | undefined): string {
  return value && of ? `${(value / of).toFixed(2)}x` : '-';
}

function formatCell(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (typeof cell !== 'number' || !Number.isFinite(cell)) return '-';
  return cell < 100 ? cell.toFixed(cell < 20 ? 2 : 1) : Math.round(cell).toLocaleString('en-US');
}
