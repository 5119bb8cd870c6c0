import { arrow, box, label } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Picture } from '../svg.ts';

const BEGUN = 94;
const RESULTS = 256;
const RESULT_HEIGHT = 96;
const BELOW = RESULTS + RESULT_HEIGHT;
const CLOSED = BELOW + 84;

function drawStates(): Body {
  const elements = [
    arrow([
      { x: 200, y: BELOW },
      { x: 200, y: CLOSED },
    ]),
    arrow([
      { x: 364, y: BELOW },
      { x: 364, y: CLOSED + 24 },
      { x: 262, y: CLOSED + 24 },
    ]),
    box({ x: 138, y: CLOSED, width: 124, titles: ['closed'], lines: ['ended by hand'], kind: 'end' }),
    label(["resolve 'closed'"], { x: 270, y: CLOSED + 44 }),
    box({ x: 130, y: 0, width: 140, titles: ['no record'], kind: 'end', isDashed: true }),
    arrow([
      { x: 200, y: 35 },
      { x: 200, y: BEGUN },
    ]),
    label(['claim'], { x: 208, y: 68 }),
    box({
      x: 0,
      y: BEGUN,
      width: BODY_WIDTH,
      titles: ['begun'],
      lines: ['held by one process: renew keeps its lease', 'the same key waits'],
      kind: 'step',
    }),
    ...drawCompletions(),
    box({
      x: 0,
      y: RESULTS,
      width: 124,
      height: RESULT_HEIGHT,
      titles: ['not_sent', 'rejected', 'not_charged'],
      lines: ['no charge exists'],
      kind: 'end',
    }),
    box({
      x: 138,
      y: RESULTS,
      width: 124,
      height: RESULT_HEIGHT,
      titles: ['unknown'],
      lines: ['a charge might', 'exist: nothing', 'is sent'],
      kind: 'care',
    }),
    box({
      x: 276,
      y: RESULTS,
      width: 124,
      height: RESULT_HEIGHT,
      titles: ['completed'],
      lines: ['a charge exists:', 'its result is', 'replayed'],
      kind: 'good',
    }),
    arrow([
      { x: 176, y: BELOW },
      { x: 176, y: BELOW + 26 },
      { x: 62, y: BELOW + 26 },
      { x: 62, y: BELOW },
    ]),
    label(['resolve', "'not_charged'"], { x: 108, y: BELOW + 44 }, 'middle'),
    arrow([
      { x: 224, y: BELOW },
      { x: 224, y: BELOW + 26 },
      { x: 338, y: BELOW + 26 },
      { x: 338, y: BELOW },
    ]),
    label(['resolve', '{ reference }'], { x: 281, y: BELOW + 44 }, 'middle'),
  ];
  return { elements: elements.join('\n'), height: CLOSED + 72 };
}

/** The arrows between `begun` and the three results. */
function drawCompletions(): string[] {
  const from = BEGUN + 70;
  const down = (x: number) =>
    arrow([
      { x, y: from },
      { x, y: RESULTS },
    ]);
  return [
    down(10),
    label(['complete:', 'not_sent,', 'rejected'], { x: 17, y: from + 34 }),
    arrow(
      [
        { x: 98, y: RESULTS },
        { x: 98, y: from },
      ],
      { isDashed: true },
    ),
    label(['claim'], { x: 104, y: from + 22 }),
    down(152),
    label(['complete:', 'unknown, or', 'lease expired'], { x: 159, y: from + 34 }),
    down(290),
    label(['complete:', 'completed'], { x: 297, y: from + 34 }),
  ];
}

export const idempotencyStates: Picture = {
  name: 'idempotency-states',
  title: 'The states of an idempotency key',
  subtitle: 'A person ends unknown, or the late result of the process that sent the charge.',
  body: drawStates(),
};
