import { arrow, box, label } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Picture } from '../svg.ts';

/** Who takes part, with the middle of its column. */
const lifelines = { shop: 60, journal: 200, service: 340 } as const;
type Lifeline = keyof typeof lifelines;

type Step =
  | { from: Lifeline; to: Lifeline; says: string; isLost?: true }
  | { note: string; lines: readonly string[]; kind: 'step' | 'care' | 'good' };

const steps: readonly Step[] = [
  { note: 'The customer presses “Pay”', lines: [], kind: 'step' },
  { from: 'shop', to: 'journal', says: 'claim 17/1' },
  { from: 'shop', to: 'service', says: 'POST: a charge of GHS 25.50' },
  { from: 'service', to: 'shop', says: 'the response is lost', isLost: true },
  { from: 'shop', to: 'journal', says: 'unknown' },
  {
    note: 'in_review',
    lines: ['another press sends nothing, and onAttention', 'calls a person'],
    kind: 'care',
  },
  { note: 'A person finds TXN-8F2K1', lines: ['in the records of the service'], kind: 'care' },
  { from: 'shop', to: 'journal', says: 'resolve' },
  { note: 'The next sweep', lines: [], kind: 'step' },
  { from: 'journal', to: 'shop', says: 'is due' },
  { from: 'shop', to: 'service', says: 'GET: the status of TXN-8F2K1' },
  { from: 'service', to: 'shop', says: 'success, GHS 25.50' },
  { from: 'shop', to: 'journal', says: 'paid' },
  { note: 'onPaid delivers', lines: ['the customer was charged once'], kind: 'good' },
];

const TOP = 35;
const ARROW = 40;
const GAP = 12;

/** Draws the ground behind a text, which is wider than the text in any font. */
function hideLifelines(text: string, middle: number, y: number): string {
  const width = 8 * text.length + 8;
  return `<rect class="ground" x="${middle - width / 2}" y="${y}" width="${width}" height="19" stroke-width="0"/>`;
}

function drawSteps(): Body {
  const elements: string[] = [];
  let y = TOP + 16;
  for (const step of steps) {
    if ('note' in step) {
      const { note, lines, kind } = step;
      const height = 18 + 17 * (1 + lines.length);
      elements.push(box({ x: 0, y, width: BODY_WIDTH, titles: [note], lines, kind }));
      y += height + GAP;
      continue;
    }
    const [from, to] = [lifelines[step.from], lifelines[step.to]];
    // A response that is lost ends between the two.
    const end = step.isLost ? lifelines.journal + 26 : to;
    const lineY = y + 22;
    const middle = step.isLost ? lifelines.service - 54 : (from + to) / 2;
    elements.push(
      hideLifelines(step.says, middle, y),
      arrow(
        [
          { x: from, y: lineY },
          { x: end, y: lineY },
        ],
        { isDashed: step.isLost === true },
      ),
      label([step.says], { x: middle, y: y + 14 }, 'middle'),
    );
    y += ARROW;
  }
  const height = y - GAP;
  const columns = Object.entries(lifelines).flatMap(([name, x]) => [
    `<path class="grid" d="M${x},${TOP}V${height}" stroke-width="1.4"/>`,
    box({ x: x - 60, y: 0, width: 120, titles: [name], kind: 'end' }),
  ]);
  return { elements: [...columns, ...elements].join('\n'), height };
}

export const lostResponse: Picture = {
  name: 'lost-response',
  title: 'A charge whose response is lost',
  subtitle: 'Nothing is sent again until a person has found out what became of it.',
  body: drawSteps(),
};
