import { arrow, box, boxHeight, label } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Picture } from '../svg.ts';

interface Choice {
  question: readonly string[];
  use: readonly string[];
  /** What can lose the record of a charge. */
  loses: readonly string[];
}

/** In the order in which they are asked. */
const choices: readonly Choice[] = [
  {
    question: ['On Cloudflare', 'Workers?'],
    use: ['D1'],
    loses: ['lost by a restore', 'with Time Travel'],
  },
  {
    question: ['PostgreSQL in', 'the shop already?'],
    use: ['PostgreSQL'],
    loses: ['lost by a failover to a', 'standby that is behind'],
  },
  {
    question: ['MySQL or MariaDB', 'already?'],
    use: ['MySQL or MariaDB'],
    loses: ['lost by such a failover,', 'or by weaker settings'],
  },
  {
    question: ['All processes on', 'one machine?'],
    use: ['SQLite in a file'],
    loses: ['lost with its disk'],
  },
  {
    question: ['Can you add', 'PostgreSQL?'],
    use: ['PostgreSQL'],
    loses: ['lost as above'],
  },
];

const QUESTION_WIDTH = 158;
const USE_X = 204;
const GAP = 30;
const CENTRE = QUESTION_WIDTH / 2;

function drawChoices(): Body {
  const elements: string[] = [];
  let y = 0;
  for (const { question, use, loses } of choices) {
    const answer = { titles: use, lines: loses };
    const height = Math.max(boxHeight({ titles: question }), boxHeight(answer));
    const middle = y + height / 2;
    elements.push(
      box({ x: 0, y, width: QUESTION_WIDTH, height, titles: question, kind: 'step' }),
      arrow([
        { x: QUESTION_WIDTH, y: middle },
        { x: USE_X, y: middle },
      ]),
      label(['yes'], { x: (QUESTION_WIDTH + USE_X) / 2 - 2, y: middle - 6 }, 'middle'),
      box({ x: USE_X, y, width: BODY_WIDTH - USE_X, height, ...answer, kind: 'good' }),
      arrow([
        { x: CENTRE, y: y + height },
        { x: CENTRE, y: y + height + GAP },
      ]),
      label(['no'], { x: CENTRE + 8, y: y + height + 19 }),
    );
    y += height + GAP;
  }
  const last = {
    titles: ['What you have'],
    lines: [
      'Redis: lost by a failover, or by default settings',
      'libSQL: lost by a power failure of its server',
      'MongoDB, DynamoDB: run their tests first',
    ],
  };
  elements.push(box({ x: 0, y, width: BODY_WIDTH, ...last, kind: 'care' }));
  return { elements: elements.join('\n'), height: y + boxHeight(last) };
}

export const whichDatabase: Picture = {
  name: 'which-database',
  title: 'Which database for the journal?',
  subtitle:
    'Below each choice: how the record of a charge can be lost. Restoring an old backup loses records of each.',
  body: drawChoices(),
};
