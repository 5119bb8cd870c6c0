import { printTable, ratio } from '../table.ts';
import type { Pending, Polling } from './measure.ts';
import type { OverHttp } from './over-http.ts';
import type { Job } from './rounds.ts';

/** One line: the contender, the number of waits, and the figures, if the measurement ended. */
export interface Measured<Figures> extends Job {
  label: string;
  figures: Figures | undefined;
}

const formatCount = (count: number) => count.toLocaleString('en-US');

export function printPending(rows: readonly Measured<Pending>[]): void {
  // Some cannot be measured with 100,000 waits, so each is compared with ours at the same count.
  const getOurs = ({ count }: Measured<Pending>) =>
    rows.find((row) => row.name === 'ours' && row.count === count)?.figures;
  printTable('Waits that only wait, through the public API of each, with a .then on each', rows, [
    ['pending waits', ({ label }) => label],
    ['waits', ({ count }) => formatCount(count)],
    ['create ms', ({ figures }) => figures?.create ?? 'not in 2 minutes'],
    ['to ours', (row) => ratio(row.figures?.create, getOurs(row)?.create)],
    ['heap bytes each', ({ figures }) => figures?.bytes],
    ['to ours', (row) => ratio(row.figures?.bytes, getOurs(row)?.bytes)],
    ['abort all ms', ({ figures }) => (figures?.abort === null ? 'cannot' : figures?.abort)],
    ['to ours', (row) => ratio(row.figures?.abort, getOurs(row)?.abort)],
  ]);
}

export function printPolling(rows: readonly Measured<Polling>[]): void {
  const ours = rows[0]?.figures;
  printTable('Scheduling alone: a stub resolves each poll in the next turn; ours through its poller', rows, [
    ['polling waits', ({ label }) => label],
    ['waits', ({ count }) => formatCount(count)],
    ['polls/s', ({ figures }) => figures?.pollsPerSecond ?? 'not in 2 minutes'],
    ['CPU us per poll', ({ figures }) => figures?.cpu],
    ['to ours', ({ figures }) => ratio(figures?.cpu, ours?.cpu)],
    ['loop delay p99 ms', ({ figures }) => figures?.loopP99],
    ['max ms', ({ figures }) => figures?.loopMax],
  ]);
}

export function printOverHttp(rows: readonly Measured<OverHttp>[]): void {
  printTable('For scale: the whole client over HTTP, to a service in another process', rows, [
    ['polling waits', ({ label }) => label],
    ['waits', ({ count }) => formatCount(count)],
    ['polls/s', ({ figures }) => figures?.pollsPerSecond ?? 'not in 2 minutes'],
    ['CPU us per poll', ({ figures }) => figures?.cpu],
    ['loop delay p99 ms', ({ figures }) => figures?.loopP99],
    ['heap bytes each, after a poll', ({ figures }) => figures?.bytes],
    ['close ms', ({ figures }) => figures?.close],
  ]);
}

interface Target {
  what: string;
  most?: number;
  figure: number | null | undefined;
}

export function printTargets(
  pending: Pending | undefined,
  polling: Polling | undefined,
  million: Pending | undefined,
): void {
  const targets: Target[] = [
    { what: '100,000 waits: heap of each, bytes', most: 830, figure: pending?.bytes },
    { what: '100,000 waits: created in ms', most: 500, figure: pending?.create },
    { what: '100,000 waits: all aborted in ms', most: 200, figure: pending?.abort },
    { what: '100,000 waits: us of CPU per poll', most: 6, figure: polling?.cpu },
    { what: '100,000 waits: event loop delay p99, ms', most: 20, figure: polling?.loopP99 },
    // As many bytes of each as MB of all.
    { what: '1,000,000 waits: heap, MB', most: 1_000, figure: million?.bytes },
    { what: '1,000,000 waits: created in ms', figure: million?.create },
    { what: '1,000,000 waits: all aborted in ms', figure: million?.abort },
  ];
  printTable('Ours against its targets', targets, [
    ['ours', ({ what }) => what],
    ['at most', ({ most }) => most],
    ['figure', ({ figure }) => figure],
    ['holds', ({ most, figure }) => (most && figure ? (figure <= most ? 'yes' : 'NO') : '-')],
  ]);
}
