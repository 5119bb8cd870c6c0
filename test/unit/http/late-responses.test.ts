import type { Socket } from 'node:net';
import { Agent } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsClientOptions } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { formatSuccess } from '../../helpers/http-messages.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

const TRIALS = 10;

const stale = formatSuccess(successBodies.chargeMobileMoney({ reference: 'TXN-stale' }));

const transports: [string, () => PaymentsClientOptions][] = [
  ['fetch', () => ({})],
  [
    'undiciTransport',
    () => {
      const transport = undiciTransport();
      onTestFinished(() => transport.close());
      return { transport };
    },
  ],
];

const arrivals: [string, boolean][] = [
  ['in one piece with the response before', true],
  ['right before the charge', false],
];

for (const [over, options] of transports) {
  test.each(arrivals)(
    `never takes a response that came %s for the charge's, over ${over}`,
    async (_, inOnePiece) => {
      let latest: Socket | undefined;
      const service = await startRawService((socket, count) => {
        latest = socket;
        const isVerify = service.requests[count - 1]?.startsWith('GET');
        const whole = formatSuccess(isVerify ? successBodies.verify() : successBodies.chargeMobileMoney());
        socket.write(whole + (isVerify && inOnePiece ? stale : ''));
      });
      const client = service.client(options());
      for (let trial = 0; trial < TRIALS; trial++) {
        await client.verify(REFERENCE);
        if (!inOnePiece) latest?.write(stale);
        const outcome = await client.chargeMobileMoney(charge).catch(({ outcome }) => outcome);
        if (outcome !== 'unknown') expect(outcome).toMatchObject({ reference: REFERENCE });
      }
      const charges = service.requests.filter((request) => request.startsWith('POST'));
      expect(charges).toHaveLength(TRIALS);
    },
  );

  test.each([201, 400, 409, 422, 429])(
    `reports unknown over ${over} if a %i has an earlier request's id`,
    async (status) => {
      const ids: string[] = [];
      const service = await startService((response, { headers }, count) => {
        ids.push(String(headers['x-request-id']));
        // The second charge gets the response of the first, or the refusal of something else.
        const body = count === 1 || status < 300 ? successBodies.chargeMobileMoney() : {};
        sendJson(response, count === 1 ? 201 : status, body, { 'x-request-id': ids[0] ?? '' });
      });
      const journal = memoryJournal();
      const client = service.client({ ...options(), journal, maxRetries: 3 });
      await client.chargeMobileMoney(charge, { idempotencyKey: 'order-16' });
      const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
      expect(failure).toMatchObject({
        name: 'OutcomeUnknownError',
        outcome: 'unknown',
        retryable: false,
        reference: undefined,
        cause: { name: 'UnexpectedResponseError' },
      });
      expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
      expect(service.requests).toHaveLength(2);
    },
  );
}

test('takes the result of a read that a cache returned under an earlier id', async () => {
  const service = await startService((response, _, count) => {
    const id = service.requests[0]?.headers['x-request-id'];
    sendJson(response, 200, successBodies.verify(), count === 1 ? {} : { 'x-request-id': String(id) });
  });
  const client = service.client();
  await client.verify(REFERENCE);
  expect(await client.verify(REFERENCE)).toMatchObject({ status: 'success' });
});

test('reports unknown if a response arrives before its request is sent', async () => {
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.close());
  vi.spyOn(dispatcher, 'dispatch').mockImplementation((_, handler) => {
    const controller = Object({ abort() {}, pause() {}, resume() {} });
    try {
      handler.onResponseStart?.(controller, 200, {}, 'OK');
      handler.onResponseData?.(controller, Buffer.from(JSON.stringify(successBodies.chargeMobileMoney())));
      handler.onResponseEnd?.(controller, {});
    } catch (error) {
      handler.onResponseError?.(controller, Object(error));
    }
    return true;
  });
  const service = await startService(200);
  const client = service.client({ transport: undiciTransport({ dispatcher }) });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
});
