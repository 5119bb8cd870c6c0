import { measureWidth, padTo, shortenInMiddle } from './printable-text.ts';
import type { Screen } from './screen.ts';

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly align?: 'right';
  /** Narrower than this it is never made, if a cell needs more. */
  readonly minWidth: number;
  /** Returns text that can be shown. */
  cell(row: Row): string;
}

/** Formats pages of rows under one head. Each line fits the screen: what is too long is shortened in the middle. */
export class Table<Row> {
  readonly #screen: Pick<Screen, 'style' | 'width'>;
  readonly #columns: readonly Column<Row>[];
  #widths: number[];
  #hasHead = false;
  #isShortened = false;

  constructor(screen: Pick<Screen, 'style' | 'width'>, columns: readonly Column<Row>[]) {
    this.#screen = screen;
    this.#columns = columns;
    this.#widths = columns.map(({ title }) => measureWidth(title));
  }

  /** Whether a cell was shortened. */
  get isShortened(): boolean {
    return this.#isShortened;
  }

  /** Returns the lines of the next rows, with the head before the first. Columns only get wider from page to page. */
  format(rows: readonly Row[]): string[] {
    const cells = rows.map((row) => this.#columns.map((column) => column.cell(row)));
    const natural = this.#widths.map((width, at) =>
      Math.max(width, ...cells.map((row) => measureWidth(row[at] ?? ''))),
    );
    this.#widths = this.#fit(natural);
    const lines = cells.map((row) => this.#formatRow(row));
    if (this.#hasHead) return lines;
    this.#hasHead = true;
    return [this.#screen.style.dim(this.#formatRow(this.#columns.map(({ title }) => title))), ...lines];
  }

  /** Makes the widest columns narrower until a line fits. */
  #fit(natural: readonly number[]): number[] {
    const widths = [...natural];
    const room = this.#screen.width - GAP.length * (widths.length - 1);
    let excess = widths.reduce((sum, width) => sum + width, -room);
    for (; excess > 0; excess--) {
      const spare = widths.map((width, at) => width - (this.#columns[at]?.minWidth ?? width));
      const widest = spare.indexOf(Math.max(...spare));
      if ((spare[widest] ?? 0) <= 0) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
    return widths;
  }

  #formatRow(cells: readonly string[]): string {
    const shown = cells.map((cell, at) => {
      const width = this.#widths[at] ?? 0;
      const text = shortenInMiddle(cell, width);
      if (text !== cell) this.#isShortened = true;
      return padTo(text, width, this.#columns[at]?.align);
    });
    return shown.join(GAP).trimEnd();
  }
}

const GAP = '  ';
