import { BODY_WIDTH, type Body, round, SMALL, text } from './svg.ts';

export interface Dot {
  label: string;
  x: number;
  y: number;
  isOurs: boolean;
  /** The side of the dot on which its label is. */
  side: 'left' | 'right';
  /** Moves the label up or down, with a line to the dot. */
  shift?: number;
}

export interface Axis {
  label: string;
  domain: readonly [number, number];
  ticks: readonly number[];
}

const TOP = 26;
const LEFT = 24;

/** Draws labelled dots on two logarithmic axes. */
export function drawScatter(dots: readonly Dot[], xAxis: Axis, yAxis: Axis, plotHeight: number): Body {
  const bottom = TOP + plotHeight;
  const placeX = (value: number) => round(LEFT + (BODY_WIDTH - LEFT) * fraction(value, xAxis.domain));
  const placeY = (value: number) => round(bottom - plotHeight * fraction(value, yAxis.domain));
  const elements = [
    text(yAxis.label, { x: 0, y: 10, size: SMALL, color: 'quiet' }),
    ...yAxis.ticks.flatMap((tick) => [
      `<path class="grid" d="M${LEFT},${placeY(tick)}H${BODY_WIDTH}"/>`,
      text(String(tick), { x: LEFT - 6, y: placeY(tick) + 4, size: SMALL, color: 'quiet', anchor: 'end' }),
    ]),
    ...xAxis.ticks.map((tick) =>
      text(String(tick), { x: placeX(tick), y: bottom + 18, size: SMALL, color: 'quiet', anchor: 'middle' }),
    ),
    text(xAxis.label, { x: BODY_WIDTH, y: bottom + 38, size: SMALL, color: 'quiet', anchor: 'end' }),
    ...dots.flatMap((dot) => drawDot(dot, placeX(dot.x), placeY(dot.y))),
  ];
  return { elements: elements.join('\n'), height: bottom + 40 };
}

function drawDot({ label, isOurs, side, shift = 0 }: Dot, x: number, y: number): string[] {
  const sign = side === 'right' ? 1 : -1;
  const away = shift === 0 ? 10 : 24;
  return [
    ...(shift === 0 ? [] : [`<path class="grid" d="M${x},${y}L${x + sign * (away - 4)},${y + shift}"/>`]),
    `<circle class="${isOurs ? 'ours' : 'others'}" cx="${x}" cy="${y}" r="${isOurs ? 6 : 4.5}"/>`,
    text(label, {
      x: x + sign * away,
      y: y + shift + 4,
      isBold: isOurs,
      anchor: side === 'right' ? 'start' : 'end',
    }),
  ];
}

const fraction = (value: number, [least, most]: readonly [number, number]) =>
  Math.log(value / least) / Math.log(most / least);
