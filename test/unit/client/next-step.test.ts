import { describe, expect, test } from 'vitest';
import { isPaymentsError, type PaymentsClient } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT } from '../../helpers/raw-service.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';

const post = (client: PaymentsClient) => client.chargeMobileMoney(charge);
const read = (client: PaymentsClient) => client.verify(REFERENCE);

test.each([
  [400, 'correct', 'correct'],
  [401, 'correct', 'correct'],
  [402, 'correct', 'check'],
  [403, 'correct', 'correct'],
  [404, 'correct', 'correct'],
  [408, 'review', 'check'],
  [409, 'correct', 'check'],
  [422, 'correct', 'correct'],
  [425, 'correct', 'check'],
  [429, 'retry', 'check'],
  [302, 'review', 'check'],
  [499, 'review', 'check'],
  [503, 'review', 'check'],
])('says what to do after a %i: charge %s, read %s', async (status, afterPost, afterRead) => {
  const service = await startService(status);
  const client = service.client({ maxRetries: 0 });
  expect(await catchError(post(client))).toMatchObject({ nextStep: afterPost });
  expect(await catchError(read(client))).toMatchObject({ nextStep: afterRead });
});

describe('says what to do', () => {
  test('without a connection: charge again, or read later', async () => {
    const baseUrl = `http://127.0.0.1:${CLOSED_PORT}`;
    const client = (await startService()).client({ baseUrl, maxRetries: 0 });
    expect(await catchError(post(client))).toMatchObject({ code: 'connection_error', nextStep: 'retry' });
    expect(await catchError(read(client))).toMatchObject({ code: 'connection_error', nextStep: 'check' });
  });

  test('after close: charge again with a new client, or read later', async () => {
    const client = (await startService()).client();
    const wait = client.waitForFinalStatus(REFERENCE);
    client.close();
    expect(await catchError(post(client))).toMatchObject({
      code: 'closed',
      outcome: 'not_sent',
      nextStep: 'retry',
    });
    expect(await catchError(read(client))).toMatchObject({ code: 'closed', nextStep: 'check' });
    expect(await catchError(wait)).toMatchObject({ code: 'closed', nextStep: 'check' });
  });

  test('after an apiKey function that failed: charge again, or read later', async () => {
    const apiKey = () => Promise.reject(new Error('the vault is down'));
    const client = (await startService()).client({ apiKey });
    expect(await catchError(post(client))).toMatchObject({ nextStep: 'retry' });
    expect(await catchError(read(client))).toMatchObject({ nextStep: 'check' });
  });

  test('after wrong input and a mismatch', async () => {
    const client = (await startService()).client();
    const wrong = client.chargeMobileMoney({ ...charge, amount: 0 });
    expect(await catchError(wrong)).toMatchObject({ nextStep: 'correct' });
    const other = client.chargeMobileMoney({ ...charge, amount: 99 });
    expect(await catchError(other)).toMatchObject({ code: 'transaction_mismatch', nextStep: 'review' });
    const unexpected = client.verify(REFERENCE, { expect: { amount: 99 } });
    expect(await catchError(unexpected)).toMatchObject({ code: 'transaction_mismatch', nextStep: 'review' });
  });

  test('to leave an order alone whose key has another charge', async () => {
    const service = await startService();
    const client = service.client({ journal: memoryJournal() });
    await client.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' });
    const again = client.chargeMobileMoney(
      { ...charge, network: 'telecel' },
      { idempotencyKey: 'order-17/1' },
    );
    expect(await catchError(again)).toMatchObject({
      code: 'idempotency_conflict',
      outcome: 'unknown',
      nextStep: 'check',
    });
    expect(service.requests).toHaveLength(1);
  });
});

test('makes an error and its causes plain JSON', async () => {
  const service = await startService(503, { message: 'x'.repeat(600) });
  const failure = await catchError(post(service.client()));
  if (!isPaymentsError(failure)) throw failure;
  const json = failure.toJSON();
  expect(json).toStrictEqual(JSON.parse(JSON.stringify(failure)));
  expect(json).toMatchObject({
    name: 'OutcomeUnknownError',
    code: 'outcome_unknown',
    operation: 'chargeMobileMoney',
    outcome: 'unknown',
    retryable: false,
    nextStep: 'review',
    cause: { name: 'ServerError', code: 'server_error', status: 503, body: { message: 'x'.repeat(600) } },
  });
});

test('recognises its own errors only', async () => {
  const client = (await startService(() => {})).client();
  const failure = await catchError(client.chargeMobileMoney({ ...charge, amount: 0 }));
  expect(isPaymentsError(failure)).toBe(true);
  for (const other of [new Error('x'), { code: 'closed' }, null, 'closed'])
    expect(isPaymentsError(other)).toBe(false);
});
