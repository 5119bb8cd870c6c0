import { vi } from 'vitest';
import type { PaymentsEvent } from '../../../../src/index.ts';
import { flushEventLoop, type TcpService } from '../../../helpers/tcp-service.ts';
import { type CallOptions, observeCall, startServiceFor, TIMEOUT, warmUp } from './observe-call.ts';
import type { Point, Subject } from './points.ts';
import { type Finding, isDelivered, isFound, untruths, wrongFault } from './truth.ts';

/** How many turns of the event loop a client gets to read what came before a silence, and at most. */
const TURNS = 8;
const MAX_TURNS = TURNS * 8 ** 5;

export interface SweepOptions extends CallOptions {
  /** Every call must resolve in the end, because it is retried. */
  resolves?: boolean;
}

/**
 * Runs every point. Returns each false report, and its point. The clock stands still until nothing more comes, because a
 * busy machine can take longer than any timeout to get there.
 */
export async function sweep(
  subject: Subject,
  points: Point[],
  options: SweepOptions = {},
): Promise<string[]> {
  const lies: string[] = [];
  const service = await startServiceFor(subject);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    for (const point of points) {
      const { cut, connection, kind } = point;
      const where = `${kind}, ${connection}, ${cut.manner} after byte ${cut.bytes} of the ${cut.side}`;
      const found = await runPoint(subject, service, point, options).catch((cause: unknown) => {
        throw new Error(where, { cause });
      });
      lies.push(...found.map((lie) => `${where}: ${lie}`));
    }
  } finally {
    vi.useRealTimers();
    await service.stop();
  }
  return lies;
}

/**
 * A busy machine can pass bytes on late, so that a client does not read them before its timeout. The point is then run again
 * with more turns. A false report is never run again.
 */
async function runPoint(
  subject: Subject,
  service: TcpService,
  point: Point,
  { resolves = false, ...options }: SweepOptions,
  turns = TURNS,
): Promise<string[]> {
  const { cut, connection, response } = point;
  await service.renew();
  if (connection === 'reused') await warmUp(service);
  if (connection === 'reused' && isBeforeRequest(point)) service.leave(cut.manner);
  else service.plan(cut, response);
  let isOver = false;
  service.onSilence = async () => {
    await flushEventLoop(turns);
    if (!isOver) vi.advanceTimersByTime(TIMEOUT);
  };
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'retry') setImmediate(() => vi.advanceTimersByTime(event.delay));
  };
  const observed = await observeCall(subject, service, { ...options, onEvent });
  isOver = true;

  const { end } = observed;
  const lies = [...untruths(subject, observed), sentAgain(subject, point, service)].filter(isFound);
  const fault = 'error' in end && wrongFault(end.error, cut, response);
  const failed = resolves && 'error' in end && 'it did not resolve';
  const misses = [fault, failed, wrongConnection(point, service)].filter(isFound);
  if (lies.length === 0 && misses.length > 0 && turns < MAX_TURNS) {
    return runPoint(subject, service, point, { resolves, ...options }, 8 * turns);
  }
  return [...lies, ...misses];
}

const isBeforeRequest = ({ cut: { side, bytes } }: Point) => side === 'request' && bytes === 0;

const sentBefore = ({ connection }: Point) => (connection === 'reused' ? 1 : 0);

/** A POST must not be retried, unless the service refused it. */
function sentAgain({ creates }: Subject, point: Point, { arrivals }: TcpService): Finding {
  const wasRefused = point.response.status === 429 && isDelivered(point.cut, point.response);
  const times = arrivals.length - sentBefore(point);
  return creates && times > 1 && !wasRefused && `it was sent ${times} times`;
}

/** After each renewal the service counts its connections from 1, so that is the only one that there should be. */
function wrongConnection(point: Point, { arrivals }: TcpService): Finding {
  const used = arrivals[sentBefore(point)]?.connection;
  return !isBeforeRequest(point) && used !== 1 && `it went over connection ${used}`;
}

/** How long this subject's request is on the wire. */
export async function requestLength(subject: Subject): Promise<number> {
  const service = await startServiceFor(subject);
  await observeCall(subject, service, {});
  await service.stop();
  const length = service.arrivals[0]?.length;
  if (length === undefined) throw new Error('no whole request came in');
  return length;
}
