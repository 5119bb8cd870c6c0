import type { TcpService } from '../../../helpers/tcp-service.ts';
import type { Point, Subject } from './points.ts';
import type { Tally } from './tally.ts';
import { endingOf, type Finding, isFound, isTold, untruths, wrongFault } from './truth.ts';
import { AMPLE, type CallOptions, SHORT, startServiceFor, warmUp, watchedCall } from './watched-call.ts';

const AT_ONCE = 128;
const LONGEST = 16 * SHORT;

export interface SweepOptions extends CallOptions {
  /** Every call has to resolve in the end: it is one that is made again. */
  resolves?: boolean;
}

/** Tries every point, many at once. What comes back is every untruth that was told, and at which point. */
export async function sweep(
  subject: Subject,
  points: Point[],
  tally: Tally,
  options: SweepOptions = {},
): Promise<string[]> {
  const lies: string[] = [];
  const queue = points.values();
  const work = async () => {
    const service = await startServiceFor(subject);
    for (const point of queue) {
      const { cut, connection, kind } = point;
      const { ending, found } = await tryPoint(subject, service, point, options);
      tally.count(`${kind}, ${cut.manner}`, ending);
      const where = `${kind}, ${connection}, ${cut.manner} after byte ${cut.bytes} of the ${cut.side}`;
      lies.push(...found.map((lie) => `${where}: ${lie}`));
    }
    await service.stop();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return lies;
}

/**
 * On a busy machine a short timeout may pass before the point is even reached. It is then tried again with a longer
 * one; what is untrue is untrue all the same.
 */
async function tryPoint(
  subject: Subject,
  service: TcpService,
  point: Point,
  { resolves = false, ...options }: SweepOptions,
  short = SHORT,
) {
  const { cut, connection, answer } = point;
  await service.renew();
  if (connection === 'reused') await warmUp(service);
  if (connection === 'reused' && isBeforeRequest(point)) service.leave(cut.manner);
  else service.plan(cut, answer);
  const timeout = cut.manner === 'silence' && !isWhole(point) ? short : AMPLE;
  const tried = await watchedCall(subject, service, { ...options, timeout });

  const { settled } = tried;
  const lies = [...untruths(subject, tried), sentAgain(subject, point, service)].filter(isFound);
  const fault = 'error' in settled && wrongFault(settled.error, cut, answer);
  const failed = resolves && 'error' in settled && 'it did not resolve';
  const misses = [fault, failed, wrongConnection(point, service)].filter(isFound);
  if (lies.length === 0 && misses.length > 0 && short < LONGEST) {
    return tryPoint(subject, service, point, { resolves, ...options }, 4 * short);
  }
  return { ending: endingOf(tried), found: [...lies, ...misses] };
}

const isBeforeRequest = ({ cut: { side, bytes } }: Point) => side === 'request' && bytes === 0;

/** Nothing is left to wait for. */
const isWhole = ({ cut, answer }: Point) =>
  answer.status !== 429 && isTold(cut, answer) && cut.bytes === answer.bytes.length;

const sentBefore = ({ connection }: Point) => (connection === 'reused' ? 1 : 0);

/** A POST must not go out once more, unless the service said that it did not take it. */
function sentAgain({ creates }: Subject, point: Point, { arrivals }: TcpService): Finding {
  const wasRefused = point.answer.status === 429 && isTold(point.cut, point.answer);
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
  await watchedCall(subject, service, {});
  await service.stop();
  const length = service.arrivals[0]?.length;
  if (length === undefined) throw new Error('no whole request came in');
  return length;
}
