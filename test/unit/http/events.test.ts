import { describe, expect, test, vi } from 'vitest';
import type { Logger, PaymentsEvent } from '../../../src/index.ts';
import { calls, REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import {
  catchError,
  payment,
  respondFirst,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const recording = () => {
  const events: PaymentsEvent[] = [];
  return { events, onEvent: (event: PaymentsEvent) => void events.push(event) };
};

const recordingLogger = () => {
  const lines: [level: string, ...line: unknown[]][] = [];
  const at =
    (level: string) =>
    (...line: unknown[]) =>
      void lines.push([level, ...line]);
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { lines, logger };
};

const requestId = expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
const duration = expect.toSatisfy((value) => typeof value === 'number' && value >= 0);

test("names the reference of a read in every event, and a retry's delay", async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.01);
  const { events, onEvent } = recording();
  const service = await startService(respondFirst(503));
  await service.client({ onEvent, maxRetries: 1 }).verify(REFERENCE);
  const subject = { operation: 'verify', reference: REFERENCE };
  expect(events).toEqual([
    { type: 'request', ...subject, attempt: 1, requestId },
    { type: 'response', ...subject, attempt: 1, status: 503, duration, requestId, error: 'server_error' },
    { type: 'retry', ...subject, attempt: 1, delay: 5, error: 'server_error' },
    { type: 'request', ...subject, attempt: 2, requestId },
    { type: 'response', ...subject, attempt: 2, status: 200, duration, requestId },
  ]);
});

test.each([
  ['verify', 'an abort', 'aborted'],
  ['chargeMobileMoney', 'an abort', 'outcome_unknown'],
  ['chargeMobileMoney', 'a reset', 'outcome_unknown'],
] as const)('reports a response of %s without a status after %s', async (operation, what, error) => {
  const { events, onEvent } = recording();
  const abort = new AbortController();
  const service = await startRawService((socket) =>
    what === 'a reset' ? socket.resetAndDestroy() : abort.abort(),
  );
  await catchError(calls[operation](service.client({ onEvent }), { signal: abort.signal }));
  const subject = { operation, ...(operation === 'verify' ? { reference: REFERENCE } : {}) };
  expect(events).toEqual([
    { type: 'request', ...subject, attempt: 1, requestId },
    { type: 'response', ...subject, attempt: 1, status: null, duration, requestId, error },
  ]);
});

test('reports no event if nothing is sent', async () => {
  const { events, onEvent } = recording();
  const service = await startService(200);
  const keyless = service.client({ onEvent, apiKey: () => '' });
  await catchError(keyless.initialize(payment));
  const client = service.client({ onEvent });
  await catchError(client.initialize({ ...payment, amount: 0 }));
  await catchError(client.initialize(payment, { timeout: -1 }));
  await catchError(client.verify(REFERENCE, { signal: AbortSignal.abort() }));
  expect(events).toEqual([]);
});

const fail = () => {
  throw new Error('the listener is broken');
};
const thenable = (get: () => unknown) => Object.defineProperty({}, 'then', { get });

describe('changes no result', () => {
  const faults: [string, () => unknown][] = [
    ['throws', fail],
    ['rejects', () => Promise.reject(new Error('the listener is broken'))],
    ['never ends', () => new Promise(() => {})],
    ['gives a broken thenable', () => thenable(() => Object.create(null))],
    ['gives a thenable that throws', () => thenable(() => fail)],
  ];

  test.each(faults)('if a listener %s', async (_how, fault) => {
    const service = await startService((response, { method }) =>
      method === 'GET' ? sendJson(response, 404, {}) : sendJson(response, 200, successBodies.initialize()),
    );
    const logger: Logger = { debug: fault, info: fault, warn: fault, error: fault };
    const client = service.client({ onEvent: fault, logger });
    expect(await client.initialize(payment)).toEqual({ ...successBodies.initialize().data, replayed: false });
    expect(await catchError(client.verify(REFERENCE))).toMatchObject({ name: 'NotFoundError' });
  });
});

test('a listener that rejects later leaves no unhandled rejection', async () => {
  const service = await startService();
  const rejected = Promise.reject(new Error('the listener is broken'));
  rejected.catch(() => {});
  const handle = vi.spyOn(rejected, 'then');
  await service.client({ onEvent: () => rejected }).initialize(payment);
  expect(handle).toHaveBeenCalledWith(undefined, expect.any(Function));
});

test('logs one line per event, without a line break in it', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { lines, logger } = recordingLogger();
  const service = await startService((response, _request, count) =>
    count === 1
      ? sendJson(response, 503, { message: 'one\ntwo' }, { 'x-request-id': 'req-7' })
      : sendJson(response, 200, successBodies.verify()),
  );
  await service.client({ logger, maxRetries: 1 }).verify(REFERENCE);
  const ms = (line: unknown) =>
    String(line)
      .replace(/after \d+ ms/, 'after N ms')
      .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/, 'ID');
  expect(lines.map(([level, line, ...more]) => [level, ms(line), ...more])).toEqual([
    ['debug', 'payments: verify TXN-8f2c61d0, attempt 1: sending, request id ID'],
    [
      'warn',
      "payments: verify TXN-8f2c61d0, attempt 1: response 503 after N ms (server_error), request id ID (the service's req-7)",
    ],
    ['warn', 'payments: verify TXN-8f2c61d0, attempt 1: server_error, retry in 0 ms'],
    ['debug', 'payments: verify TXN-8f2c61d0, attempt 2: sending, request id ID'],
    ['debug', 'payments: verify TXN-8f2c61d0, attempt 2: response 200 after N ms, request id ID'],
  ]);
});

test("calls the logger's methods on the logger, as pino needs it", async () => {
  class Lines implements Logger {
    readonly lines: string[] = [];
    readonly #add = (line: string) => void this.lines.push(line);
    debug(line: string) {
      this.#add(line);
    }
    info = this.debug;
    warn = this.debug;
    error = this.debug;
  }
  const logger = new Lines();
  await (await startService()).client({ logger }).initialize(payment);
  expect(logger.lines).toHaveLength(2);
});
