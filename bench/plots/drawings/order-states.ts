import type { OrderState } from '../../../src/ledger/order.ts';
import { arrow, box, label, type Point } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Kind, type Picture } from '../svg.ts';

const ROW = 62;
const ROW_HEIGHT = 69;
const BELOW = ROW + ROW_HEIGHT;
const REVIEW = 268;
const WIDTH = 124;

interface State {
  x: number;
  y: number;
  width: number;
  lines: readonly string[];
  kind: Kind;
}

/** The compiler keeps the list complete. */
const states: Record<OrderState, State> = {
  unpaid: { x: 0, y: ROW, width: WIDTH, lines: ['the customer', 'can pay'], kind: 'end' },
  processing: { x: 138, y: ROW, width: WIDTH, lines: ['a prompt or a', 'page is open'], kind: 'step' },
  paid: { x: 276, y: ROW, width: WIDTH, lines: ['onPaid delivers:', 'it stays paid'], kind: 'good' },
  in_review: {
    x: 0,
    y: REVIEW,
    width: BODY_WIDTH,
    lines: ['nothing is sent until a person decides;', 'with its reference, a payment is followed again'],
    kind: 'care',
  },
};

/** Draws an arrow from one point of a row to another, round its upper or lower side. */
function arc(from: Point, to: Point, y: number): string {
  return arrow([from, { x: from.x, y }, { x: to.x, y }, to]);
}

function drawStates(): Body {
  const down = (x: number) =>
    arrow([
      { x, y: BELOW },
      { x, y: REVIEW },
    ]);
  const up = (x: number) =>
    arrow([
      { x, y: REVIEW },
      { x, y: BELOW },
    ]);
  const elements = [
    arc({ x: 62, y: ROW }, { x: 180, y: ROW }, 30),
    label(['“Pay”'], { x: 121, y: 22 }, 'middle'),
    arc({ x: 220, y: ROW }, { x: 338, y: ROW }, 30),
    label(['success'], { x: 279, y: 22 }, 'middle'),
    arc({ x: 154, y: BELOW }, { x: 108, y: BELOW }, BELOW + 24),
    label(['failed,', 'abandoned'], { x: 131, y: BELOW + 42 }, 'middle'),
    down(16),
    label(['the', 'response', 'is lost'], { x: 22, y: BELOW + 82 }),
    up(92),
    label(['not charged,', 'or closed'], { x: 98, y: BELOW + 98 }),
    down(202),
    label(['another', 'amount', 'or price'], { x: 209, y: BELOW + 36 }),
    up(352),
    label(['accepted'], { x: 345, y: BELOW + 68 }, 'end'),
    ...Object.entries(states).map(([state, { lines, ...place }]) =>
      box({ ...place, titles: [state], lines }),
    ),
  ];
  return { elements: elements.join('\n'), height: REVIEW + ROW_HEIGHT };
}

export const orderStates: Picture = {
  name: 'order-states',
  title: 'The states of an order',
  subtitle: 'An unpaid order becomes paid too, if a payment that failed was paid after all.',
  body: drawStates(),
};
