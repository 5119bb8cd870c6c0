import { type Dot, drawScatter } from '../scatter.ts';
import type { Picture, Source } from '../svg.ts';

export const NAME = 'delay-against-requests';

export interface ScheduleFigures extends Source {
  waits: number;
  /** Of each schedule: requests for each wait, and mean seconds from approval to its detection. */
  rows: readonly { name: string; requests: number; delay: number }[];
}

/** Where the label of a schedule is, and what it says. Others are on the right, under their own name. */
const labels: readonly [name: RegExp, label: Omit<Partial<Dot>, 'x' | 'y'>][] = [
  [/^ours/, { label: 'ours', side: 'left' }],
  [/^predecessor/, { label: 'first 5 s, then √t', side: 'left', shift: -22 }],
  [/^optimum/, { label: 'the optimum', side: 'left', shift: 22 }],
  [/^fixed 1 s/, { label: 'every 1 s', side: 'left' }],
  [/^AWS/, { label: 'AWS waiter as shipped' }],
  [/^exponential/, { label: 'exponential, ≤ 10 s' }],
  [/^proportional 15/, { label: '15 % of elapsed, ≤ 10 s' }],
  [/^proportional 25/, { label: '25 % of elapsed, ≤ 15 s' }],
];

export function drawSchedules({ rows, waits, ...source }: ScheduleFigures): Picture {
  const dots = rows.map(({ name, requests, delay }): Dot => {
    const [, label = {}] = labels.find(([pattern]) => pattern.test(name)) ?? [];
    return {
      label: name.replace('fixed', 'every'),
      side: 'right',
      x: requests,
      y: delay,
      isOurs: name.startsWith('ours'),
      ...label,
    };
  });
  return {
    name: NAME,
    title: 'Detection delay against requests',
    subtitle: `${waits.toLocaleString('en-US')} simulated customers. Lower left is better.`,
    source,
    body: drawScatter(
      dots,
      { label: 'requests for each wait →', domain: [3.5, 70], ticks: [5, 10, 20, 50] },
      {
        label: '↑ mean seconds from approval to its detection',
        domain: [0.7, 20],
        ticks: [1, 2, 5, 10, 20],
      },
      320,
    ),
  };
}
