import type { TcpService } from '../../../helpers/tcp-service.ts';
import { AMPLE, type CallOptions, observeCall, SHORT, startServiceFor, warmUp } from './observe-call.ts';
import type { Point, Subject } from './points.ts';
import { type Finding, isDelivered, isFound, untruths, wrongFault } from './truth.ts';

const AT_ONCE = 128;
const LONGEST = 16 * SHORT;

export interface SweepOptions extends CallOptions {
  /** Every call must resolve in the end, because it is retried. */
  resolves?: boolean;
}

/** Runs every point, many at once. Returns each false report, and its point. */
export async function sweep(
  subject: Subject,
  points: Point[],
  options: SweepOptions = {},
): Promise<string[]> {
  const lies: string[] = [];
  const queue = points.values();
  const work = async () => {
    const service = await startServiceFor(subject);
    for (const point of queue) {
      const { cut, connection, kind } = point;
      const found = await runPoint(subject, service, point, options);
      const where = `${kind}, ${connection}, ${cut.manner} after byte ${cut.bytes} of the ${cut.side}`;
      lies.push(...found.map((lie) => `${where}: ${lie}`));
    }
    await service.stop();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return lies;
}

/**
 * On a busy machine a short timeout might end before the point is reached. The point is then run again with a longer
 * one. A false report is never run again.
 */
async function runPoint(
  subject: Subject,
  service: TcpService,
  point: Point,
  { resolves = false, ...options }: SweepOptions,
  short = SHORT,
): Promise<string[]> {
  const { cut, connection, response } = point;
  await service.renew();
  if (connection === 'reused') await warmUp(service);
  if (connection === 'reused' && isBeforeRequest(point)) service.leave(cut.manner);
  else service.plan(cut, response);
  const timeout = cut.manner === 'silence' && !isWhole(point) ? short : AMPLE;
  const observed = await observeCall(subject, service, { ...options, timeout });

  const { end } = observed;
  const lies = [...untruths(subject, observed), sentAgain(subject, point, service)].filter(isFound);
  const fault = 'error' in end && wrongFault(end.error, cut, response);
  const failed = resolves && 'error' in end && 'it did not resolve';
  const misses = [fault, failed, wrongConnection(point, service)].filter(isFound);
  if (lies.length === 0 && misses.length > 0 && short < LONGEST) {
    return runPoint(subject, service, point, { resolves, ...options }, 4 * short);
  }
  return [...lies, ...misses];
}

const isBeforeRequest = ({ cut: { side, bytes } }: Point) => side === 'request' && bytes === 0;

/** Nothing is left to wait for. */
const isWhole = ({ cut, response }: Point) =>
  response.status !== 429 && isDelivered(cut, response) && cut.bytes === response.bytes.length;

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
