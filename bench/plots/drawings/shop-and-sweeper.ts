import { arrow, box, label } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Picture } from '../svg.ts';

const WIDTH = 238;
const HEIGHT = 69;
const STEP = 122;
const SERVICE = 316;

function drawParts(): Body {
  const [shop, journal, sweeper, handlers] = [0, STEP, 2 * STEP, 3 * STEP];
  const left = { x: 0, width: WIDTH, height: HEIGHT };
  const down = (x: number, y: number) =>
    arrow([
      { x, y: y + HEIGHT },
      { x, y: y + STEP },
    ]);
  const elements = [
    box({
      ...left,
      y: shop,
      titles: ['Shop'],
      lines: ['charge or checkout, at each', 'press of “Pay”'],
      kind: 'step',
    }),
    down(28, shop),
    label(['a claim before the request,', 'its result after it'], { x: 36, y: shop + HEIGHT + 23 }),
    box({
      ...left,
      y: journal,
      titles: ['Journal'],
      lines: ['in your database: one', 'record for each order'],
      kind: 'good',
    }),
    arrow([
      { x: 28, y: sweeper },
      { x: 28, y: journal + HEIGHT },
    ]),
    label(['what is due,', 'and what a check found'], { x: 36, y: journal + HEIGHT + 23 }),
    box({
      ...left,
      y: sweeper,
      titles: ['Sweeper'],
      lines: ['run in a process,', 'or sweep from cron'],
      kind: 'step',
    }),
    down(28, sweeper),
    label(['calls, and again after', 'a crash'], { x: 36, y: sweeper + HEIGHT + 23 }),
    box({
      x: 0,
      y: handlers,
      width: BODY_WIDTH,
      height: HEIGHT,
      titles: ['Your handlers'],
      lines: ['onPaid delivers, onUnpaid asks again,', 'onAttention calls a person to the review desk'],
      kind: 'care',
    }),
    box({
      x: SERVICE,
      y: shop,
      width: BODY_WIDTH - SERVICE,
      height: sweeper + HEIGHT - shop,
      titles: ['Service'],
      lines: ['and the', 'customer’s', 'phone'],
      kind: 'end',
    }),
    arrow([
      { x: WIDTH, y: shop + 24 },
      { x: SERVICE, y: shop + 24 },
    ]),
    label(['POST'], { x: (WIDTH + SERVICE) / 2, y: shop + 18 }, 'middle'),
    arrow(
      [
        { x: SERVICE, y: shop + 56 },
        { x: WIDTH, y: shop + 56 },
      ],
      { isDashed: true },
    ),
    label(['webhook'], { x: (WIDTH + SERVICE) / 2, y: shop + 50 }, 'middle'),
    arrow([
      { x: WIDTH, y: sweeper + 40 },
      { x: SERVICE, y: sweeper + 40 },
    ]),
    label(['GET'], { x: (WIDTH + SERVICE) / 2, y: sweeper + 34 }, 'middle'),
  ];
  return { elements: elements.join('\n'), height: handlers + HEIGHT };
}

export const shopAndSweeper: Picture = {
  name: 'shop-and-sweeper',
  title: 'Who does what',
  subtitle: 'Any number of shops and sweepers share one journal. A webhook only makes a check come sooner.',
  body: drawParts(),
};
