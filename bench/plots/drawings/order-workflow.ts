import { arrow, box, boxHeight, label } from '../diagram.ts';
import { BODY_WIDTH, type Kind, type Picture } from '../svg.ts';

interface Step {
  titles: readonly [string];
  lines: readonly string[];
  /** What ends the order here: the event, and what to do. */
  ends: readonly { event: string; titles: readonly [string]; lines?: readonly string[]; kind: Kind }[];
  /** What leads to the next step. */
  next?: string;
}

const steps: readonly Step[] = [
  {
    titles: ['Charge at most once'],
    lines: ['idempotencyKey order-17/1, with a journal'],
    ends: [
      { event: 'not_sent', titles: ['Retry'], lines: ['if retryable: the same key'], kind: 'end' },
      { event: 'rejected', titles: ['Ask for a correction'], lines: ['then the same key'], kind: 'end' },
      {
        event: 'unknown',
        titles: ['Manual review'],
        lines: ['do not charge again:', 'payments.resolve'],
        kind: 'care',
      },
    ],
    next: 'completed: store the reference',
  },
  {
    titles: ['Wait for the final status'],
    lines: ['by follow-ups, a job queue or an engine:', 'check, then sleep; a webhook ends the sleep'],
    ends: [
      { event: 'success', titles: ['Deliver the order'], kind: 'good' },
      {
        event: 'failed, abandoned',
        titles: ['Ask to pay again'],
        lines: ['checked for 7 more days'],
        kind: 'end',
      },
      {
        event: 'another amount',
        titles: ['Manual review'],
        lines: ['do not deliver'],
        kind: 'care',
      },
    ],
    next: 'deadline: not final yet (overdue)',
  },
  {
    titles: ['Keep the order, keep checking'],
    lines: ['the customer can still approve'],
    ends: [
      {
        event: 'success, late',
        titles: ['Deliver the order'],
        lines: ['or pay it back if sold out'],
        kind: 'good',
      },
      { event: 'not in 7 days', titles: ['Manual review'], lines: ['verify it by hand'], kind: 'care' },
    ],
  },
];

const RAIL = 16;
const END_X = 164;
const GAP = 10;

function drawSteps() {
  const elements: string[] = [];
  let y = 0;
  for (const { titles, lines, ends, next } of steps) {
    elements.push(box({ x: 0, y, width: BODY_WIDTH, titles, lines, kind: 'step' }));
    const railY = y + boxHeight({ titles, lines });
    y = railY + GAP + 4;
    let lastY = y;
    for (const { event, ...end } of ends) {
      lastY = y + boxHeight(end) / 2;
      elements.push(
        arrow([
          { x: RAIL, y: lastY },
          { x: END_X, y: lastY },
        ]),
        label([event], { x: RAIL + 8, y: lastY - 6 }),
        box({ x: END_X, y, width: BODY_WIDTH - END_X, ...end }),
      );
      y += boxHeight(end) + GAP;
    }
    if (next === undefined) {
      elements.push(`<path class="line" d="M${RAIL},${railY}V${lastY}" stroke-width="1.4"/>`);
      continue;
    }
    elements.push(label([next], { x: RAIL + 10, y: y + 14 }));
    y += 32;
    elements.push(
      arrow([
        { x: RAIL, y: railY },
        { x: RAIL, y },
      ]),
    );
  }
  return { elements: elements.join('\n'), height: y - GAP };
}

export const orderWorkflow: Picture = {
  name: 'order-workflow',
  title: 'An order, from charge to delivery',
  subtitle: 'Only success means paid. After unknown, a person resolves the key.',
  body: drawSteps(),
};
