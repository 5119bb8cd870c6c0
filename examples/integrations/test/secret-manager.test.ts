import { AuthenticationError, PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { startSandbox } from 'payment-collection-client/sandbox';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RotatingKey, type RotatingKeyOptions } from '../secret-manager/rotating-key.ts';
import { KeyGate } from './key-gate.ts';

const OLD = 'sk_live_old_0123456789';
const NEW = 'sk_live_new_9876543210';
const charge = {
  amount: '25.50',
  customer_email: 'ama@example.com',
  phone: '0244123456',
  network: 'mtn',
} as const;

async function start(options: RotatingKeyOptions = {}) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const service = new KeyGate(sandbox, OLD);
  /** The secret manager: what it holds, and how often it was asked. */
  const manager = { key: OLD, reads: 0, isDown: false };
  const key = new RotatingKey(async () => {
    manager.reads++;
    await new Promise((resolve) => setImmediate(resolve));
    if (manager.isDown) throw new Error('The secret manager is down.');
    return manager.key;
  }, options);
  const payments = new PaymentsClient({
    baseUrl: await service.open(),
    apiKey: key.current,
    journal: memoryJournal(),
    maxRetries: 0,
  });
  onTestFinished(() => payments.close());
  const rotate = () => {
    manager.key = NEW;
    service.key = NEW;
  };
  return { sandbox, service, manager, key, payments, rotate };
}

describe('A secret manager as apiKey', () => {
  afterEach(() => vi.useRealTimers());

  it('is read once for concurrent calls and while the key is cached', async () => {
    const { manager, payments, sandbox } = await start();
    const calls = Array.from({ length: 20 }, () =>
      payments.chargeMobileMoney(charge, { idempotencyKey: null }),
    );
    await Promise.all(calls);
    await payments.chargeMobileMoney(charge, { idempotencyKey: null });
    expect(manager.reads).toBe(1);
    expect(sandbox.charges).toHaveLength(21);
  });

  it('is read again once the key is too old', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { manager, key } = await start({ maxAge: 60_000 });
    expect(await key.current()).toBe(OLD);
    manager.key = NEW;
    vi.advanceTimersByTime(59_999);
    expect(await key.current()).toBe(OLD);
    vi.advanceTimersByTime(1);
    expect(await key.current()).toBe(NEW);
    expect(manager.reads).toBe(2);
  });

  it('gives a new key after a 401, and the order is charged once', async () => {
    const { sandbox, service, manager, key, payments, rotate } = await start({ minAge: 0 });
    await payments.chargeMobileMoney(charge, { idempotencyKey: null });
    rotate();
    const again = await key.retryIfRejected(() =>
      payments.chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey: 'order-17' }),
    );
    expect(again).toMatchObject({ amount: '30.00', status: 'processing' });
    expect(service.seen).toEqual([OLD, OLD, NEW]);
    expect(sandbox.charges).toMatchObject([{ amount: '25.50' }, { amount: '30.00' }]);
    expect(manager.reads).toBe(2);
  });

  it('is read once for concurrent 401s', async () => {
    const { sandbox, service, manager, key, payments, rotate } = await start({ minAge: 0 });
    await payments.chargeMobileMoney(charge, { idempotencyKey: null });
    rotate();
    const calls = Array.from({ length: 20 }, (_, index) =>
      key.retryIfRejected(() => payments.chargeMobileMoney(charge, { idempotencyKey: `order-${index}` })),
    );
    await Promise.all(calls);
    expect(manager.reads).toBe(2);
    expect(sandbox.charges).toHaveLength(21);
    expect(service.seen.filter((seen) => seen === NEW)).toHaveLength(20);
  });

  it('gives a running wait the new key', async () => {
    const { sandbox, key, payments, rotate } = await start({ minAge: 0 });
    const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: null });
    sandbox.approve(reference);
    rotate();
    const transaction = await key.retryIfRejected(() => payments.waitForFinalStatus(reference));
    expect(transaction.status).toBe('success');
  });

  it('is not read for each call if the key is revoked', async () => {
    const { service, manager, key, payments } = await start();
    service.key = NEW;
    for (let calls = 0; calls < 3; calls++) {
      const call = key.retryIfRejected(() => payments.chargeMobileMoney(charge, { idempotencyKey: null }));
      await expect(call).rejects.toBeInstanceOf(AuthenticationError);
    }
    expect(manager.reads).toBe(1);
    expect(service.seen).toHaveLength(3);
  });

  it('causes no second call after other errors', async () => {
    const { sandbox, service, manager, key, payments } = await start({ minAge: 0 });
    await key.current();
    manager.key = NEW;
    sandbox.fault('chargeMobileMoney', { kind: 'status', status: 500, accepted: true });
    const call = key.retryIfRejected(() => payments.chargeMobileMoney(charge, { idempotencyKey: null }));
    await expect(call).rejects.toMatchObject({ outcome: 'unknown' });
    expect(service.seen).toEqual([OLD]);
    expect(sandbox.charges).toHaveLength(1);
  });

  it('keeps the last key while it is down, and sends nothing without one', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { sandbox, service, manager, key, payments } = await start({ maxAge: 60_000 });
    manager.isDown = true;
    await expect(payments.chargeMobileMoney(charge, { idempotencyKey: null })).rejects.toMatchObject({
      name: 'ConfigurationError',
      outcome: 'not_sent',
      retryable: true,
    });
    expect(service.seen).toEqual([]);
    manager.isDown = false;
    await key.current();
    manager.isDown = true;
    vi.advanceTimersByTime(60_000);
    await payments.chargeMobileMoney(charge, { idempotencyKey: null });
    expect(sandbox.charges).toHaveLength(1);
  });
});
