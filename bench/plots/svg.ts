import { writeFileSync } from 'node:fs';

/** A picture of the docs. It is narrow, so that its texts are legible on a phone, and has colours for dark mode. */
export interface Picture {
  /** The name of the file in docs/images, without `.svg`. */
  name: string;
  title: string;
  subtitle: string;
  /** Where the figures come from. Diagrams have none. */
  source?: Source;
  body: Body;
}

/** The run that made the figures of a plot. */
export interface Source {
  /** ISO 8601, such as `2026-11-22`. */
  date: string;
  machine: string;
  command: string;
}

/** SVG elements, with their origin at the top left, and their height in pixels. */
export interface Body {
  elements: string;
  height: number;
}

const WIDTH = 440;
const PADDING = 20;
/** The width of the body, in pixels. */
export const BODY_WIDTH = WIDTH - 2 * PADDING;

/** The sizes of texts, in pixels. On a phone the picture is 358 pixels wide, so 12 become 9.8. */
export const TITLE = 17;
export const HEADING = 14;
export const TEXT = 13;
export const SMALL = 12;

/** The width of a character as part of the font size. Some systems have a font as wide as this. */
const CHARACTER = 0.58;

const light = {
  ground: '#ffffff',
  frame: '#d1d9e0',
  text: '#1f2328',
  quiet: '#59636e',
  line: '#59636e',
  ours: '#0969da',
  others: '#818b98',
  step: ['#ddf4ff', '#0969da'],
  good: ['#dafbe1', '#1a7f37'],
  end: ['#f6f8fa', '#59636e'],
  care: ['#fff8c5', '#9a6700'],
} as const;

const dark: Record<keyof typeof light, string | readonly [string, string]> = {
  ground: '#0d1117',
  frame: '#3d444d',
  text: '#f0f6fc',
  quiet: '#9198a1',
  line: '#9198a1',
  ours: '#4493f8',
  others: '#7d8590',
  step: ['#121d2f', '#4493f8'],
  good: ['#12261e', '#3fb950'],
  end: ['#151b23', '#9198a1'],
  care: ['#272115', '#d29922'],
};

/** The colours of a box: a step, a good end, an end, and what needs a person. */
export type Kind = 'step' | 'good' | 'end' | 'care';

function colorRules(colors: Record<string, string | readonly [string, string]>): string {
  const rules = Object.entries(colors).map(([name, color]) => {
    if (typeof color !== 'string') return `.${name} { fill: ${color[0]}; stroke: ${color[1]}; }`;
    if (name === 'frame') return `.ground, .grid { stroke: ${color}; }`;
    if (name === 'line') return `.${name} { stroke: ${color}; } .head { fill: ${color}; }`;
    return `.${name} { fill: ${color}; }`;
  });
  return rules.join('\n    ');
}

const style = `
    text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
    .line, .grid { fill: none; }
    ${colorRules(light)}
    @media (prefers-color-scheme: dark) {
    ${colorRules(dark)}
    }
  `;

/** Returns the text of the SVG file. */
export function drawPicture({ title, subtitle, source, body }: Picture): string {
  const subtitles = wrapText(subtitle, TEXT);
  const captions = source
    ? [`${formatDate(source.date)}, ${source.machine}:`, source.command].flatMap((line) =>
        wrapText(line, SMALL),
      )
    : [];
  const bodyY = 40 + 18 * subtitles.length + 14;
  const captionY = bodyY + body.height + 24;
  const height = captions.length > 0 ? captionY + 16 * captions.length : bodyY + body.height + PADDING;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escapeXml(`${title}: ${subtitle}`)}</title>`,
    `<style>${style}</style>`,
    `<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0,1L10,5L0,9z"/></marker></defs>`,
    `<rect class="ground" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    text(title, { x: PADDING, y: 32, size: TITLE, isBold: true }),
    ...subtitles.map((line, index) => text(line, { x: PADDING, y: 54 + 18 * index, color: 'quiet' })),
    `<g transform="translate(${PADDING},${bodyY})">`,
    body.elements,
    '</g>',
    ...captions.map((line, index) =>
      text(line, { x: PADDING, y: captionY + 16 * index, size: SMALL, color: 'quiet' }),
    ),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

/** Writes a picture to docs/images. */
export function writePicture(picture: Picture): void {
  writeFileSync(new URL(`../../docs/images/${picture.name}.svg`, import.meta.url), drawPicture(picture));
  console.log(`Wrote docs/images/${picture.name}.svg.`);
}

interface TextOptions {
  x: number;
  y: number;
  size?: number;
  isBold?: boolean;
  color?: 'text' | 'quiet' | 'ours';
  anchor?: 'start' | 'middle' | 'end';
}

export function text(content: string, options: TextOptions): string {
  const { x, y, size = TEXT, isBold = false, color = 'text', anchor = 'start' } = options;
  const weight = isBold ? ' font-weight="bold"' : '';
  const anchored = anchor === 'start' ? '' : ` text-anchor="${anchor}"`;
  return `<text class="${color}" x="${round(x)}" y="${round(y)}" font-size="${size}"${weight}${anchored}>${escapeXml(content)}</text>`;
}

/** Breaks a text into lines that fit into the picture. */
function wrapText(content: string, size: number): string[] {
  const most = Math.floor(BODY_WIDTH / (CHARACTER * size));
  const lines: string[] = [];
  for (const word of content.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function formatDate(date: string): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date));
}

export const round = (value: number) => Math.round(value * 10) / 10;

const escapeXml = (content: string) =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
