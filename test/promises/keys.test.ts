/** At most one charge for each idempotency key: `idempotencyKey` with a `journal`. */

import { expect, test } from 'vitest';
import { ConfigurationError, IdempotencyConflictError, OutcomeUnknownError } from '../../src/index.ts';
import type { JournalStore } from '../../src/stores/index.ts';
import { memoryStore } from '../../src/stores/index.ts';
import { API_KEY, catchError } from '../helpers/service.ts';
import { connectionRefused, MINUTE, momo, page, SECOND, slow, world } from '../helpers/world.ts';
import { wrapStore } from '../helpers/wrapped-store.ts';

const key = { idempotencyKey: 'order-17/1' };

test('the same key again returns the recorded result, and sends nothing', async () => {
  const { shop, posts } = world();
  const first = await shop.payments.chargeMobileMoney(momo, key);
  const again = await shop.payments.chargeMobileMoney(momo, key);
  expect(again).toEqual({ ...first, message: '', replayed: true });
  expect(posts).toHaveLength(1);
});

test('a replay has the status of the charge, whatever other field the service gave it', async () => {
  const data = {
    reference: 'TXN-1',
    status: 'processing',
    raw_status: 'success',
    amount: '25.50',
    currency: 'GHS',
  };
  const { shop } = world({ respond: () => Response.json({ status: true, data }) });
  await shop.payments.chargeMobileMoney(momo, key);
  expect(await shop.payments.chargeMobileMoney(momo, key)).toMatchObject({
    status: 'processing',
    replayed: true,
  });
});

test('a key in use elsewhere gives the result of that call', async () => {
  const { shop, start, posts } = world({ respond: slow('POST', SECOND) });
  const calls = [shop, start(), start()].map(({ payments }) => payments.chargeMobileMoney(momo, key));
  const [first, ...others] = await Promise.all(calls);
  expect(others).toMatchObject([{ reference: first?.reference }, { reference: first?.reference }]);
  expect(posts).toHaveLength(1);
});

test('a lost response leaves the key unresolved, and nothing is sent again', async () => {
  const { shop, service, posts } = world();
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  for (const call of [1, 2, 3]) {
    const error = await catchError(shop.payments.chargeMobileMoney(momo, key));
    expect(error, `call ${call}`).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ outcome: 'unknown', nextStep: 'review', idempotencyKey: 'order-17/1' });
  }
  expect(posts).toHaveLength(1);
});

test('a process that died while it charged leaves the key unresolved', async () => {
  const { shop, start, posts, clock } = world({
    respond: (request) => (request.method === 'POST' ? never() : undefined),
  });
  void shop.payments.chargeMobileMoney(momo, key).catch(() => {});
  await clock.until(() => posts.length === 1);
  void shop.payments.close({ timeout: 1 });
  await clock.pass(5 * MINUTE);
  const error = await catchError(
    start({ client: { timeout: SECOND } }).payments.chargeMobileMoney(momo, key),
  );
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(posts).toHaveLength(1);
});

const never = () => new Promise<never>(() => {});

test('what was not sent or was refused can be sent again, with other input too', async () => {
  let isRefused = true;
  const { shop } = world({
    respond() {
      if (isRefused) throw connectionRefused;
      return undefined;
    },
  });
  expect(await catchError(shop.payments.chargeMobileMoney(momo, key))).toMatchObject({ outcome: 'not_sent' });
  isRefused = false;
  const corrected = { ...momo, phone: '0551234987' };
  expect(await shop.payments.chargeMobileMoney(corrected, key)).toMatchObject({ status: 'processing' });
});

test('another input under a used key is a conflict, and sends nothing', async () => {
  const { shop, posts } = world();
  await shop.payments.chargeMobileMoney(momo, key);
  const error = await catchError(shop.payments.chargeMobileMoney({ ...momo, amount: '30.00' }, key));
  expect(error).toBeInstanceOf(IdempotencyConflictError);
  expect(error).toMatchObject({ outcome: 'unknown', nextStep: 'check' });
  expect(posts).toHaveLength(1);
});

test('the intent is recorded before anything is sent, and the outcome before it is returned', async () => {
  const steps: string[] = [];
  const traced = wrapStore(memoryStore(), async ({ method }, run) => {
    const result = await run();
    if (method === 'write') steps.push('write');
    return result;
  });
  const { shop } = world({ store: traced, respond: () => void steps.push('POST') });
  await shop.payments.chargeMobileMoney(momo, key);
  steps.push('returned');
  expect(steps.slice(0, 2)).toEqual(['write', 'POST']);
  expect(steps.slice(-2)).toEqual(['write', 'returned']);
});

test('a charge of a client with a journal says what it means by its key', async () => {
  const { shop, posts } = world();
  for (const options of [undefined, {}, { idempotencyKey: undefined }]) {
    const call = () => Reflect.apply(shop.payments.chargeMobileMoney, shop.payments, [momo, options]);
    expect(await catchError(Promise.resolve().then(call))).toBeInstanceOf(ConfigurationError);
  }
  expect(posts).toEqual([]);
  await shop.payments.chargeMobileMoney(momo, { idempotencyKey: null });
  await shop.payments.initialize(page);
  expect(posts).toHaveLength(2);
});

test('a call that waited for another one sends the API key of that moment', async () => {
  let apiKey = 'sk_test_before_the_rotation';
  const { shop, start, posts, clock } = world({
    client: { apiKey: () => apiKey },
    async respond(request) {
      if (request.headers.get('authorization') === `Bearer ${API_KEY}`) return undefined;
      await clock.pass(5 * SECOND);
      return Response.json({ status: false, message: 'Try again.' }, { status: 409 });
    },
  });
  const refused = catchError(shop.payments.chargeMobileMoney(momo, key));
  await clock.until(() => posts.length === 1);
  const waited = start({ client: { apiKey: () => apiKey } }).payments.chargeMobileMoney(momo, key);
  await clock.pass(2 * SECOND);
  apiKey = API_KEY;
  expect(await refused).toMatchObject({ outcome: 'rejected' });
  expect(await waited).toMatchObject({ status: 'processing', replayed: false });
});

test('all that is recorded of a charge must be committed, also the claim of its reference', async () => {
  const store = memoryStore();
  const mustCommit: boolean[] = [];
  const write: JournalStore['write'] = (name, change) => {
    mustCommit.push(change.mustCommit);
    return store.write(name, change);
  };
  const { shop } = world({ store: { read: (...given) => store.read(...given), write } });
  await shop.payments.chargeMobileMoney(momo, key);
  expect(mustCommit).toEqual([true, true, true]);
});

test('no phone, email or API key is stored', async () => {
  const store = memoryStore();
  const texts: string[] = [];
  const write: JournalStore['write'] = (...given) => {
    texts.push(JSON.stringify(given));
    return store.write(...given);
  };
  const traced: JournalStore = { read: (...given) => store.read(...given), write };
  const { shop } = world({ store: traced });
  await shop.payments.chargeMobileMoney(momo, key);
  expect(texts.length).toBeGreaterThan(1);
  for (const secret of [/24.?412.?3456/, /ama\.serwaa/, /sk_test_4vK9/])
    expect(texts.join()).not.toMatch(secret);
});

test('a database that hangs before the charge fails the call, and nothing is sent', async () => {
  const hanging = wrapStore(memoryStore(), ({ method }, run) => (method === 'write' ? never() : run()));
  const { shop, clock, posts } = world({ store: hanging });
  const error = await catchError(shop.payments.chargeMobileMoney(momo, key));
  expect(error).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
  expect(clock.now).toBeLessThanOrEqual(16 * SECOND);
  expect(posts).toEqual([]);
});

test('close with a timeout of 0 waits for nothing', async () => {
  const { shop, clock, posts } = world({ respond: slow('POST', 5 * SECOND) });
  const call = shop.payments.chargeMobileMoney(momo, key);
  await clock.until(() => posts.length === 1);
  const before = clock.now;
  await shop.payments.close({ timeout: 0 });
  expect(clock.now - before).toBeLessThan(SECOND);
  await call;
});

test('close resolves when the calls in flight have recorded their outcome', async () => {
  const { shop, journal, clock, posts } = world({ respond: slow('POST', 5 * SECOND) });
  const call = shop.payments.chargeMobileMoney(momo, key);
  await clock.until(() => posts.length === 1);
  await shop.payments.close();
  expect(await journal.read('order-17/1')).toMatchObject({ reference: (await call).reference });
});
