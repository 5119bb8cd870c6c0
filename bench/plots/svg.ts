import { mkdirSync, writeFileSync } from 'node:fs';
import * as Plot from '@observablehq/plot';
import { JSDOM } from 'jsdom';
import { machine } from '../conditions.ts';

/** A picture for the README. It has its own background, in the colours of the reader's system. */
export interface Picture {
  /** The name of the file in docs/images, without `.svg`. */
  name: string;
  title: string;
  subtitle: string;
  /** The command that measures the figures again. */
  command: string;
  width?: number;
  height: number;
  plot: Plot.PlotOptions;
}

export const OURS = 'var(--ours)';
export const OTHERS = 'var(--others)';
/** The colour of the baseline. */
export const BASE = 'var(--base)';

const folder = new URL('../../docs/images/', import.meta.url);
const WIDTH = 760;
const PADDING = 20;
const HEAD = 66;
const FOOT = 34;
const NAMESPACE = 'http://www.w3.org/2000/svg';

const style = `
  svg { --ground: #ffffff; --text: #1f2328; --quiet: #59636e; --line: #d1d9e0; --ours: #0969da; --others: #a9b4c0; --base: #59636e; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #0d1117; --text: #f0f6fc; --quiet: #9198a1; --line: #3d444d; --ours: #4493f8; --others: #565f6b; --base: #9198a1; }
  }
  text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
  .ground { fill: var(--ground); stroke: var(--line); }
  .title { fill: var(--text); font-size: 17px; font-weight: 600; }
  .subtitle { fill: var(--quiet); font-size: 13px; }
  .caption { fill: var(--quiet); font-size: 11px; }
  .plot { color: var(--text); --plot-background: var(--ground); font-size: 12px; overflow: visible; }`;

/** Draws a picture and writes it to docs/images. */
export function writePicture({ name, title, subtitle, command, width = WIDTH, height, plot }: Picture): void {
  const { document } = new JSDOM().window;
  const outer = createElement(document, 'svg', {
    xmlns: NAMESPACE,
    viewBox: `0 0 ${width} ${HEAD + height + FOOT}`,
    width: String(width),
    height: String(HEAD + height + FOOT),
    role: 'img',
  });
  const inner = Plot.plot({ document, width: width - 2 * PADDING, height, className: 'plot', ...plot });
  for (const [attribute, value] of Object.entries({ x: PADDING, y: HEAD }))
    inner.setAttribute(attribute, String(value));
  const day = new Date().toISOString().slice(0, 10);
  const caption = `${day}, Node ${process.version}, ${machine()}: ${command}`;
  outer.append(
    createElement(document, 'title', {}, `${title}: ${subtitle}`),
    createElement(document, 'style', {}, style),
    createElement(document, 'rect', {
      class: 'ground',
      x: '0.5',
      y: '0.5',
      width: String(width - 1),
      height: String(HEAD + height + FOOT - 1),
      rx: '8',
    }),
    createElement(document, 'text', { class: 'title', x: String(PADDING), y: '32' }, title),
    createElement(document, 'text', { class: 'subtitle', x: String(PADDING), y: '53' }, subtitle),
    inner,
    createElement(
      document,
      'text',
      { class: 'caption', x: String(PADDING), y: String(HEAD + height + FOOT - 14) },
      caption,
    ),
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${name}.svg`, folder), `${outer.outerHTML}\n`);
  console.log(`\nWrote docs/images/${name}.svg.`);
}

function createElement(
  document: Document,
  name: string,
  attributes: Record<string, string>,
  text = '',
): Element {
  const created = document.createElementNS(NAMESPACE, name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.textContent = text;
  return created;
}
