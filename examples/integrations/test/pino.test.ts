import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { startSandbox } from 'payment-collection-client/sandbox';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog, loggedPayments } from '../pino/logged-payments.ts';

const charge = {
  amount: '25.50',
  customer_email: 'ama.serwaa@example.com',
  phone: '0244123456',
  network: 'mtn',
} as const;

async function start() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const options: PaymentsClientOptions = {
    baseUrl: sandbox.baseUrl,
    apiKey: sandbox.liveKey,
    journal: memoryJournal(),
    maxRetries: 1,
    polling: { initialDelay: 10, minDelay: 10, maxDelay: 20 },
  };
  const read = () => lines.map((line): Record<string, unknown> => JSON.parse(line));
  const secrets = [sandbox.liveKey, charge.phone, charge.customer_email];
  const leaks = () => secrets.filter((secret) => lines.some((line) => line.includes(secret)));
  return { sandbox, destination, options, lines, read, leaks };
}

/** Every kind of line: good answers, a retry, a refusal that echoes everything, a poll, a wait, a used key. */
async function everyKindOfLine(
  payments: PaymentsClient,
  {
    sandbox,
    onError,
  }: { sandbox: Awaited<ReturnType<typeof start>>['sandbox']; onError: (error: unknown) => void },
): Promise<void> {
  const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
  await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
  sandbox.fault('verify', { kind: 'status', status: 502, headers: { 'retry-after': '0' } });
  await payments.verify(reference);
  const message = `Bearer ${sandbox.liveKey} for ${charge.phone} of ${charge.customer_email}`;
  sandbox.fault('chargeMobileMoney', { kind: 'status', status: 400, body: { status: false, message } });
  await payments.chargeMobileMoney(charge, { idempotencyKey: null }).catch(onError);
  sandbox.fault('chargeMobileMoney', { kind: 'status', status: 500, body: { message } });
  await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-18' }).catch(onError);
  sandbox.approve(reference);
  await payments.waitForFinalStatus(reference);
}

describe('pino as the logger', () => {
  it('logs lines of each level', async () => {
    const { sandbox, destination, options, read, leaks } = await start();
    const payments = new PaymentsClient({ ...options, logger: pino({ level: 'debug' }, destination) });
    onTestFinished(() => payments.close());
    await everyKindOfLine(payments, { sandbox, onError: () => {} });
    const levels = new Set(read().map(({ level }) => level));
    expect([...levels].toSorted()).toEqual([20, 30, 40]);
    expect(read().every(({ msg }) => typeof msg === 'string' && msg.startsWith('payments: '))).toBe(true);
    expect(leaks()).toEqual([]);
  });

  it("keeps key, phone and email out of errors, and redacts the shop's lines", async () => {
    const { sandbox, destination, options, lines, read, leaks } = await start();
    const log = createLog(destination);
    const payments = loggedPayments(log, options);
    onTestFinished(() => payments.close());
    await everyKindOfLine(payments, {
      sandbox,
      onError: (err) =>
        log.error(
          { err, order: charge, request: { headers: { authorization: `Bearer ${sandbox.liveKey}` } } },
          'refused',
        ),
    });
    const errors = read().filter(({ msg }) => msg === 'refused');
    const order = { phone: '[redacted]', customer_email: '[redacted]', network: 'mtn' };
    expect(errors).toMatchObject([
      { err: { type: 'InvalidRequestError', outcome: 'rejected' }, order },
      { err: { type: 'OutcomeUnknownError', outcome: 'unknown' }, order },
    ]);
    expect(lines.some((line) => line.includes('"module":"payments"'))).toBe(true);
    expect(leaks()).toEqual([]);
  });
});
