import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { jumpClock, SECOND } from '../../helpers/fake-clock.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { flushEventLoop } from '../../helpers/tcp-service.ts';
import { expectUnknownOutcome } from '../../helpers/unknown-outcome.ts';

const timeout = 60;

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

describe('timeout covers', () => {
  test('connecting: a TLS handshake without a response', async () => {
    const server = createServer((socket) => socket.resume());
    await expectTimeout(
      createClientFor(`https://127.0.0.1:${await listenForTest(server)}/api/v1`)({ timeout }),
    );
  });

  test('headers that never arrive', async () => {
    standStill();
    const service = await startRawService(() => void vi.advanceTimersByTime(timeout));
    await expectTimeout(service.client({ timeout }));
    expect(service.requests).toHaveLength(3);
  });

  test('slow headers', async () => {
    const service = await startRawService((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const writer = setInterval(() => socket.write('x-more: x\r\n'), 10);
      socket.on('close', () => clearInterval(writer));
    });
    await expectTimeout(service.client({ timeout }));
  });

  test('a body that never arrives', async () => {
    const service = await startRawService((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n');
    });
    await expectTimeout(service.client({ timeout }));
  });

  test('a slow, steady body', async () => {
    const service = await startRawService((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n');
      const writer = setInterval(() => socket.write(' '), 5);
      socket.on('close', () => clearInterval(writer));
    });
    await expectTimeout(service.client({ timeout }));
  });

  test('a fetch that ignores its signal', async () => {
    await expectTimeout(
      createClientFor('https://payments.example')({ timeout, fetch: () => new Promise(() => {}) }),
    );
  });

  test('a body that ignores its signal', async () => {
    const fetch = async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    await expectTimeout(createClientFor('https://payments.example')({ timeout, fetch }));
  });
});

test('still times out after the process was frozen', async () => {
  standStill();
  const service = await startRawService((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n');
    jumpClock(SECOND);
    vi.advanceTimersByTime(timeout);
  });
  await expectTimeout(service.client({ timeout }));
});

test('closes the connection of a request that timed out', async () => {
  const closed = Promise.withResolvers<void>();
  standStill();
  const service = await startRawService((socket) => {
    socket.on('close', () => closed.resolve());
    vi.advanceTimersByTime(timeout);
  });
  await catchError(service.client({ timeout }).verify(REFERENCE));
  await closed.promise;
});

test('shows a 401 whose body hangs, and does not report rejected', async () => {
  standStill();
  const service = await startRawService((socket) => {
    socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 10\r\n\r\n', async () => {
      await flushEventLoop();
      vi.advanceTimersByTime(timeout);
    });
  });
  const failure = await catchError(service.client({ timeout }).chargeMobileMoney(charge));
  expect(failure).toMatchObject({
    name: 'OutcomeUnknownError',
    outcome: 'unknown',
    cause: { name: 'AuthenticationError' },
  });
});

test("replaces the client's timeout with the call's", async () => {
  const service = await startRawService(() => {});
  const failure = await catchError(service.client({ timeout: 60_000 }).verify(REFERENCE, { timeout: 30 }));
  expect(failure).toMatchObject({ message: 'verify: no complete response within 30 ms.' });
});

test('gives each attempt the whole timeout', async () => {
  const { onEvent } = skipRetryDelays();
  const service = await startService((response, _request, count) => {
    if (count === 3) sendJson(response, 200, successBodies.verify());
    else vi.advanceTimersByTime(timeout);
  });
  const result = await service.client({ timeout, maxRetries: 2, onEvent }).verify(REFERENCE);
  expect(result).toMatchObject({ status: 'success' });
  expect(service.requests).toHaveLength(3);
});

test('times out after 30 seconds by default, under fake timers', async () => {
  standStill();
  const arrived = Promise.withResolvers<void>();
  const service = await startRawService(() => arrived.resolve());
  const ended = vi.fn();
  const call = catchError(service.client().verify(REFERENCE)).finally(ended);
  await arrived.promise;
  await vi.advanceTimersByTimeAsync(29_999);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await call).toMatchObject({ message: 'verify: no complete response within 30000 ms.' });
});

test('does not fire at once with the longest timeout of a timer', async () => {
  const service = await startService();
  const transaction = await service.client({ timeout: 2 ** 31 - 1 }).verify(REFERENCE);
  expect(transaction).toMatchObject({ status: 'success' });
});
