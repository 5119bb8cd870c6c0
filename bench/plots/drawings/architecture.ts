import { arrow, type Box, box } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Picture } from '../svg.ts';

const HALF = 192;
const RIGHT = BODY_WIDTH - HALF;
const THIRD = 124;
const CLIENT = 140;
const PARTS = 220;
const LAYERS = 472;

const layers: readonly (readonly [title: string, line: string])[] = [
  ['options, api-key, base-url', 'checked once, each default filled in'],
  ['journal', 'records, references, lists, and each database'],
  ['errors, events, redact', 'outcomes, and what can be printed'],
  ['api, phone', 'operations, schemas, money, numbers'],
  ['ledger', 'the rules of an order, as pure functions'],
  ['schedule, timing', 'pure functions, clocks, timeouts'],
];

const boxes: readonly Box[] = [
  { x: 0, y: 0, width: THIRD, titles: ['operators'], lines: ['probe, commands'], kind: 'end' },
  { x: 138, y: 0, width: THIRD, titles: ['sandbox'], lines: ['pages, HTTP'], kind: 'end' },
  { x: 276, y: 0, width: THIRD, titles: ['node'], lines: ['undiciTransport'], kind: 'end' },
  { x: 0, y: 64, width: HALF, titles: ['testing'], lines: ['the service in memory'], kind: 'end' },
  {
    x: RIGHT,
    y: 64,
    width: HALF,
    titles: ['orders, follow-ups'],
    lines: ['sweep, run, notify'],
    kind: 'end',
  },
  {
    x: 0,
    y: CLIENT,
    width: BODY_WIDTH,
    titles: ['index, client'],
    lines: ['one method for each action of a merchant'],
    kind: 'step',
  },
  {
    x: 0,
    y: PARTS,
    width: HALF,
    height: 108,
    titles: ['polling'],
    lines: ['waits, shared polls,', 'limits, reconcile'],
    kind: 'step',
  },
  {
    x: RIGHT,
    y: PARTS,
    width: HALF,
    height: 224,
    titles: ['idempotency'],
    lines: ['claim, send, record,', 'resolve, check'],
    kind: 'step',
  },
  {
    x: 0,
    y: PARTS + 136,
    width: HALF,
    height: 88,
    titles: ['http'],
    lines: ['call, send, attempt,', 'transport (ky),', 'response'],
    kind: 'step',
  },
  ...layers.map(
    ([title, line], index): Box => ({
      x: 0,
      y: LAYERS + 62 * index,
      width: BODY_WIDTH,
      titles: [title],
      lines: [line],
      kind: 'step',
    }),
  ),
];

function drawLayers(): Body {
  const left = HALF / 2;
  const right = RIGHT + HALF / 2;
  const starts = [CLIENT + 52, PARTS + 224].flatMap((y) => [left, right].map((x) => ({ x, y })));
  const arrows = [...starts, { x: left, y: PARTS + 108 }].map(({ x, y }) =>
    arrow([
      { x, y },
      { x, y: y + 28 },
    ]),
  );
  const elements = [...boxes.map(box), ...arrows].join('\n');
  return { elements, height: LAYERS + 62 * (layers.length - 1) + 52 };
}

export const architecture: Picture = {
  name: 'architecture',
  title: 'The parts of src',
  subtitle: 'A part imports only what is beside or below it.',
  body: drawLayers(),
};
