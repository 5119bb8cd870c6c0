import { afterAll, beforeAll, expect, test } from 'vitest';
import { flushEventLoop } from '../../../helpers/tcp-service.ts';
import type { CallOptions } from './observe-call.ts';
import { requestPoints, responsePoints, type Subject } from './points.ts';
import { requestLength, sweep } from './sweep.ts';
import { runUnreachable } from './unreachable.ts';

/**
 * Runs one operation against a service that goes away at every byte there is, on a fresh and on a reused connection,
 * by FIN, RST and silence.
 */
export function sweepTests(subject: Subject, options: CallOptions = {}) {
  const { name } = subject;
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);

  beforeAll(() => {
    process.on('unhandledRejection', note).on('uncaughtException', note);
  });

  afterAll(async () => {
    await flushEventLoop();
    process.off('unhandledRejection', note).off('uncaughtException', note);
    expect(unhandled).toEqual([]);
  });

  test(`${name} reports the true outcome if the service accepts nothing`, async () => {
    expect(some(await runUnreachable(subject))).toEqual([]);
  });

  test(`${name} reports the true outcome after a cut in the request`, async () => {
    const points = requestPoints(subject, await requestLength(subject));
    expect(some(await sweep(subject, points, options))).toEqual([]);
  });

  for (const [kind, response] of Object.entries(subject.responses)) {
    test(`${name} reports the true outcome after a cut in the response ${kind}`, async () => {
      const points = responsePoints(kind, response);
      expect(some(await sweep(subject, points, options))).toEqual([]);
    });
  }
}

/** A wrong client makes thousands of false reports. The first ones suffice. */
const some = (lies: string[]) => (lies.length > 12 ? [...lies.slice(0, 12), `… of ${lies.length}`] : lies);
