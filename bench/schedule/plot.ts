import * as Plot from '@observablehq/plot';
import { OTHERS, OURS, writePicture } from '../plots/svg.ts';
import type { Row } from './simulate.ts';

interface Dot {
  label: string;
  requests: number;
  delay: number;
  isOurs: boolean;
}

/** Draws each schedule as a dot: its requests, and its detection delay for a customer who paid. */
export function plotSchedules(rows: readonly Row[], waits: number): void {
  const dots = rows.map(({ name, requests, paid }): Dot => {
    return { label: name.split(':')[0] ?? name, requests, delay: paid.mean, isOurs: name.startsWith('ours') };
  });
  const fill = ({ isOurs }: Dot) => (isOurs ? OURS : OTHERS);
  const names = (anchor: 'left' | 'right', shown: Dot[], dy = 0) =>
    Plot.text(shown, {
      x: 'requests',
      y: 'delay',
      text: 'label',
      textAnchor: anchor === 'left' ? 'start' : 'end',
      dx: anchor === 'left' ? 9 : -9,
      dy,
    });
  // These dots are close together: their labels are drawn one above the other, on the left.
  const closeBy = dots.filter(({ label }) => /^(?:predecessor|optimum)/.test(label));
  const onTheLeft = dots.filter(({ isOurs, requests }) => isOurs || requests > 30);
  writePicture({
    name: 'delay-against-requests',
    title: 'Detection delay against requests',
    subtitle: `${waits.toLocaleString('en-US')} simulated customers: detection delay of a payment, and the requests for it`,
    command: `npm run bench schedule -- --plot`,
    height: 380,
    plot: {
      marginLeft: 52,
      marginRight: 24,
      marginTop: 38,
      marginBottom: 42,
      x: {
        label: 'requests for each wait, less is better',
        type: 'log',
        domain: [5, 70],
        ticks: [5, 10, 20, 50],
        tickFormat: String,
        labelAnchor: 'right',
      },
      y: {
        label: 'mean delay of the paid, seconds, less is better',
        type: 'log',
        domain: [0.7, 20],
        ticks: [1, 2, 5, 10, 20],
        tickFormat: String,
        grid: true,
      },
      color: { type: 'identity' },
      marks: [
        Plot.dot(dots, { x: 'requests', y: 'delay', r: ({ isOurs }: Dot) => (isOurs ? 7 : 5), fill }),
        names(
          'left',
          dots.filter((dot) => !onTheLeft.includes(dot) && !closeBy.includes(dot)),
        ),
        names('right', onTheLeft),
        ...closeBy.map((dot) => names('right', [dot], dot.label === 'predecessor' ? -7 : 9)),
      ],
      r: { type: 'identity' },
    },
  });
}
