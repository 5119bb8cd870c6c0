import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { NotFoundError } from '../../../src/index.ts';
import type { SandboxOptions } from '../../../src/sandbox/index.ts';
import { charge, payment, startTestSandbox } from './start-sandbox.ts';

/** Starts a sandbox with a client of each mode. */
async function startModes(options?: SandboxOptions) {
  const started = await startTestSandbox(options);
  return { ...started, live: started.payments, test: started.client({ apiKey: started.sandbox.testKey }) };
}

test('each key sees the transactions of its own mode only', async () => {
  const { live, test } = await startModes();
  const inLive = await live.initialize(payment);
  const inTest = await test.initialize(payment);
  await expect(live.verify(inTest.reference)).rejects.toBeInstanceOf(NotFoundError);
  await expect(test.verify(inLive.reference)).rejects.toBeInstanceOf(NotFoundError);
  await expect(live.verify(inLive.reference)).resolves.toMatchObject({ status: 'pending' });
  await expect(test.verify(inTest.reference)).resolves.toMatchObject({ status: 'pending' });
});

test('charges with the test key with allowTestCharges, in test mode', async () => {
  const { live, test, press } = await startModes({ allowTestCharges: true });
  const { reference } = await test.chargeMobileMoney(charge);
  await press('/phone', { reference, decision: 'approve', pin: '1234' });
  await expect(test.verify(reference)).resolves.toMatchObject({ status: 'success' });
  await expect(live.verify(reference)).rejects.toBeInstanceOf(NotFoundError);
});

test('the checkout page works in both modes', async () => {
  const { live, test, press } = await startModes();
  for (const payments of [live, test]) {
    const { reference } = await payments.initialize(payment);
    await press(`/checkout/${reference}`, { outcome: 'pay' });
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'success' });
  }
});

test('keeps the mode of each transaction over a restart', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const state = join(directory, 'state.db');
  const first = await startModes({ state, allowTestCharges: true });
  const inLive = await first.live.chargeMobileMoney(charge);
  const inTest = await first.test.chargeMobileMoney(charge);
  await first.sandbox.close();

  const { sandbox, live, test } = await startModes({ state });
  sandbox.expectNoDoubleCharge();
  await expect(live.verify(inLive.reference)).resolves.toMatchObject({ status: 'pending' });
  await expect(test.verify(inTest.reference)).resolves.toMatchObject({ status: 'pending' });
  await expect(live.verify(inTest.reference)).rejects.toBeInstanceOf(NotFoundError);
  await expect(test.verify(inLive.reference)).rejects.toBeInstanceOf(NotFoundError);
});
