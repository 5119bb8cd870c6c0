import { afterAll, beforeAll, expect, test } from 'vitest';
import { flushEventLoop } from '../../../helpers/tcp-service.ts';
import { answerPoints, requestPoints, type Subject } from './points.ts';
import { requestLength, sweep } from './sweep.ts';
import { createTally } from './tally.ts';
import { tryUnreachable } from './unreachable.ts';
import type { CallOptions } from './watched-call.ts';

const LIMIT = 110_000;

/**
 * Tries one operation against a service that goes away at every byte there is, on a fresh and on a reused connection,
 * by FIN, RST and silence, and prints how the calls ended.
 */
export function sweepTests(subject: Subject, options: CallOptions = {}) {
  const { name } = subject;
  const tally = createTally();
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  const began = performance.now();

  beforeAll(() => {
    process.on('unhandledRejection', note).on('uncaughtException', note);
  });

  afterAll(async () => {
    await flushEventLoop();
    process.off('unhandledRejection', note).off('uncaughtException', note);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    tally.print(`${name}, ${seconds} s, by where the service went away and how:`);
    expect(unhandled).toEqual([]);
  });

  test(`${name} tells the truth when the service accepts nothing`, { timeout: LIMIT }, async () => {
    expect(some(await tryUnreachable(subject, tally))).toEqual([]);
  });

  test(`${name} tells the truth when the service goes away at any byte of the request`, {
    timeout: LIMIT,
  }, async () => {
    const points = requestPoints(subject, await requestLength(subject));
    expect(some(await sweep(subject, points, tally, options))).toEqual([]);
  });

  for (const [kind, answer] of Object.entries(subject.answers)) {
    test(`${name} tells the truth when the service goes away at any byte of the answer ${kind}`, {
      timeout: LIMIT,
    }, async () => {
      const points = answerPoints(kind, answer);
      expect(some(await sweep(subject, points, tally, options))).toEqual([]);
    });
  }
}

/** A wrong client tells thousands of untruths; the first of them will do. */
const some = (lies: string[]) => (lies.length > 12 ? [...lies.slice(0, 12), `… of ${lies.length}`] : lies);
