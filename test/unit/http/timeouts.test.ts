import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Fetch, PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { expectUnknownOutcome } from '../../helpers/expected-outcomes.ts';
import { jumpClock, SECOND } from '../../helpers/fake-clock.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { flushEventLoop } from '../../helpers/tcp-service.ts';

const timeout = 60;

/** On a clock that stands still. A request whose time is over by the real clock never leaves. */
const LONG = 10_000;

async function expectTimeout(client: PaymentsClient) {
  const onVerify = await expectUnknownOutcome(client, 'RequestTimeoutError');
  expect(onVerify).toHaveProperty('message', 'verify: no complete response within 60 ms.');
}

/**
 * The clock stands still until the test moves it on. A busy machine can take longer than the timeout to send a request,
 * and the server then never sees it.
 */
function standStill() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

const keepWriting = (socket: Socket, text: string) => {
  const writer = setInterval(() => socket.write(text), 5);
  socket.on('close', () => clearInterval(writer));
};
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n';

test.each<[string, (socket: Socket) => void]>([
  ['headers that never arrive', () => {}],
  [
    'slow headers',
    (socket) => void socket.write('HTTP/1.1 200 OK\r\n', () => keepWriting(socket, 'x: y\r\n')),
  ],
  ['a body that never arrives', (socket) => void socket.write(HEAD)],
  ['a slow, steady body', (socket) => void socket.write(HEAD, () => keepWriting(socket, ' '))],
])('the timeout covers %s', async (_, respond) => {
  await expectTimeout((await startRawService(respond)).client({ timeout }));
});

test.each<[string, Fetch]>([
  ['fetch', () => new Promise(() => {})],
  ['body', async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }))],
])('the timeout covers a %s that ignores its signal', async (_, fetch) => {
  await expectTimeout(createClientFor('https://payments.example')({ timeout, fetch }));
});

test('the timeout covers a TLS handshake without a response', async () => {
  const port = await listenForTest(createServer((socket) => socket.resume()));
  await expectTimeout(createClientFor(`https://127.0.0.1:${port}/api/v1`)({ timeout }));
});

test('still times out after the process was frozen', async () => {
  standStill();
  const service = await startRawService((socket) => {
    socket.write(HEAD);
    jumpClock(SECOND);
    vi.advanceTimersByTime(timeout);
  });
  await expectTimeout(service.client({ timeout }));
});

test('sends a request that times out, and closes its connection', async () => {
  const closed = Promise.withResolvers<void>();
  standStill();
  const service = await startRawService((socket) => {
    socket.on('close', () => closed.resolve());
    vi.advanceTimersByTime(LONG);
  });
  await catchError(service.client({ timeout: LONG }).verify(REFERENCE));
  await closed.promise;
  expect(service.requests).toHaveLength(1);
});

test.each<[string, (socket: Socket) => void]>([
  ['hangs', () => void vi.advanceTimersByTime(LONG)],
  ['breaks off', (socket) => void socket.resetAndDestroy()],
])('shows a 401 whose body %s, and does not report rejected', async (_, leave) => {
  standStill();
  const service = await startRawService((socket) => {
    socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 100\r\n\r\n{"message": "Wro', async () => {
      await flushEventLoop();
      leave(socket);
    });
  });
  const failure = await catchError(service.client({ timeout: LONG }).chargeMobileMoney(charge));
  const cause = { name: 'AuthenticationError', status: 401 };
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false, cause });
});

test('gives each attempt the whole timeout', async () => {
  const { onEvent } = skipRetryDelays();
  const service = await startService((response, _request, count) => {
    if (count === 3) sendJson(response, 200, successBodies.verify());
    else vi.advanceTimersByTime(LONG);
  });
  const result = await service.client({ timeout: LONG, maxRetries: 2, onEvent }).verify(REFERENCE);
  expect(result).toMatchObject({ status: 'success' });
  expect(service.requests).toHaveLength(3);
});

test.each([
  ['30 seconds by default', {}, {}, 30_000],
  ["the call's", { timeout: 60_000 }, { timeout: LONG }, LONG],
  ['the longest of a timer', { timeout: 2 ** 31 - 1 }, {}, 2 ** 31 - 1],
])('times out after %s, under fake timers', async (_, ofClient, ofCall, expected) => {
  standStill();
  const arrived = Promise.withResolvers<void>();
  const service = await startRawService(() => arrived.resolve());
  const ended = vi.fn();
  const call = catchError(service.client(ofClient).verify(REFERENCE, ofCall)).finally(ended);
  await arrived.promise;
  await vi.advanceTimersByTimeAsync(expected - 1);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await call).toMatchObject({ message: `verify: no complete response within ${expected} ms.` });
});
