import { expect, test } from 'vitest';
import { ConfigurationError, type PaymentsClient } from '../../../src/index.ts';
import { charge, payment, startService } from '../../helpers/service.ts';

type Call = (client: PaymentsClient, nothing: never) => unknown;

/** What JavaScript lets through: null in place of options. */
const calls: [string, Call][] = [
  ['initialize', (client, nothing) => client.initialize(payment, nothing)],
  ['chargeMobileMoney', (client, nothing) => client.chargeMobileMoney(charge, nothing)],
  ['verify', (client, nothing) => client.verify('TXN-1', nothing)],
  ['check', (client, nothing) => client.check('TXN-1', nothing)],
  ['waitForFinalStatus', (client, nothing) => client.waitForFinalStatus('TXN-1', nothing)],
  ['watch', (client, nothing) => client.watch('TXN-1', nothing).next()],
  ['reconcile', (client, nothing) => client.reconcile(['TXN-1'], nothing).next()],
  ['reconcile, for its list,', (client, nothing) => client.reconcile(nothing).next()],
];

test('refuses extraBody on a read', async () => {
  const service = await startService();
  const options: object = { extraBody: { note: 'x' } };
  await expect(service.client().verify('TXN-1', options)).rejects.toBeInstanceOf(ConfigurationError);
  expect(service.requests).toEqual([]);
});

test.each(calls)('%s refuses null as its options, and sends nothing', async (_, call) => {
  const service = await startService();
  const attempt = async () => call(service.client(), null as never);
  await expect(attempt()).rejects.toBeInstanceOf(ConfigurationError);
  expect(service.requests).toEqual([]);
});
