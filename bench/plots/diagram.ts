import { HEADING, type Kind, round, TEXT, text } from './svg.ts';

export interface Point {
  x: number;
  y: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  /** Bold, each on a line of its own. */
  titles: readonly string[];
  lines?: readonly string[];
  kind: Kind;
  isDashed?: boolean;
  height?: number;
}

const LINE = 17;
const PADDING = 9;

export function boxHeight({ titles, lines = [], height }: Pick<Box, 'titles' | 'lines' | 'height'>): number {
  return height ?? 2 * PADDING + LINE * (titles.length + lines.length);
}

/** Draws a box with titles and lines below them, centred. */
export function box(options: Box): string {
  const { x, y, width, titles, lines = [], kind, isDashed = false } = options;
  const height = boxHeight(options);
  const first = y + (height - LINE * (titles.length + lines.length)) / 2 + 13;
  const place = (index: number) => ({ x: x + width / 2, y: first + LINE * index, anchor: 'middle' as const });
  return [
    `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"${isDashed ? ' stroke-dasharray="5 4"' : ''}/>`,
    ...titles.map((title, index) => text(title, { ...place(index), size: HEADING, isBold: true })),
    ...lines.map((line, index) => text(line, place(titles.length + index))),
  ].join('\n');
}

/** Draws straight lines between the points, with a head at the last one. */
export function arrow(points: readonly Point[], { isDashed = false } = {}): string {
  const path = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${round(x)},${round(y)}`).join('');
  return `<path class="line" d="${path}" stroke-width="1.4"${isDashed ? ' stroke-dasharray="5 4"' : ''} marker-end="url(#head)"/>`;
}

/** Draws lines of text from a point down. `y` is the baseline of the first. */
export function label(
  lines: readonly string[],
  { x, y }: Point,
  anchor: 'start' | 'end' | 'middle' = 'start',
): string {
  return lines.map((line, index) => text(line, { x, y: y + 16 * index, size: TEXT, anchor })).join('\n');
}
