import { describe, expect, test } from 'vitest';
import { type Journal, memoryJournal, memoryStore } from '../../../../src/stores/index.ts';
import { claimKey, completeKey, made } from '../../../helpers/claims.ts';
import { charge } from '../../../helpers/service.ts';
import { runCommand, type Shop, startShop } from './run-command.ts';

const note = ['--by', 'kofi@shop.example', '--reason', 'found by its request id'];
const found = (key: string, reference = 'TXN-8f2c61d0') => [
  'resolve',
  key,
  '--reference',
  reference,
  ...note,
];
const notCharged = (key: string, ...more: string[]) => ['resolve', key, '--not-charged', ...note, ...more];

async function startUnresolved(key: string, journal?: Journal): Promise<Shop> {
  const shop = await startShop(journal);
  await shop.leaveUnresolved(key);
  return shop;
}

test('records a reference that the service confirms', async () => {
  const shop = await startUnresolved('order-17/1');
  expect(await runCommand(found('order-17/1'), shop)).toMatchObject({
    code: 0,
    out:
      'Resolved: order-17/1 is TXN-8f2c61d0, 25.50 GHS.\n' +
      'To learn whether it is paid, verify the reference, or let a follow-up do it.\n',
    err: '',
  });
  expect(await shop.journal.read('order-17/1')).toMatchObject({
    state: 'completed',
    reference: 'TXN-8f2c61d0',
    resolutions: [{ by: 'kofi@shop.example', reason: 'found by its request id' }],
  });
  expect((await runCommand(['list'], shop)).code).toBe(0);
});

test('says so if the key was resolved so already', async () => {
  const shop = await startUnresolved('order-17/1');
  await runCommand(found('order-17/1'), shop);
  const { code, out } = await runCommand(found('order-17/1'), shop);
  expect([code, out]).toEqual([0, 'order-17/1 is resolved so already. Nothing was changed.\n']);
  expect((await shop.journal.read('order-17/1'))?.resolutions).toHaveLength(1);
});

test('says that a transaction of another amount still needs a person', async () => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-17/1', '30.00');
  const { code, lines } = await runCommand(found('order-17/1'), shop);
  expect([code, lines]).toEqual([
    0,
    [
      'Resolved: order-17/1 is TXN-8f2c61d0, 30.00 GHS.',
      'It still needs a person: its transaction has another amount or currency. What to do: npx payment-journal show order-17/1',
    ],
  ]);
  const accepting = ['resolve', 'order-17/1', '--accepted', ...note];
  expect(await runCommand(accepting, shop)).toMatchObject({
    code: 0,
    out: 'Resolved: order-17/1 is accepted as it is: TXN-8f2c61d0, 25.50 GHS in place of 30.00 GHS. It counts as paid.\n',
  });
  expect((await runCommand(['list'], shop)).code).toBe(0);
});

test('records the checkout page of a payment, and prints the entry with --json', async () => {
  const shop = await startShop();
  await shop.leaveUnresolvedPayment('order-17/1');
  const checkout_url = 'https://pay.example/checkout/TXN-8f2c61d0';
  const args = [...found('order-17/1'), '--checkout-url', checkout_url, '--json'];
  const { code, out } = await runCommand(args, shop);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ key: 'order-17/1', state: 'completed', reference: 'TXN-8f2c61d0' });
  const { amount, customer_email } = charge;
  const again = shop.payments.initialize({ amount, customer_email }, { idempotencyKey: 'order-17/1' });
  expect(await again).toMatchObject({ replayed: true, checkout_url });
});

test('adds a transaction to an order', async () => {
  const shop = await startUnresolved('order-1');
  const { service = '' } = (await shop.journal.read('order-1')) ?? {};
  await completeKey(shop.journal, '17', made('TXN-1'), { kind: 'order', service });
  expect(await runCommand(found('17'), shop)).toMatchObject({
    code: 0,
    out: expect.stringContaining('Resolved: 17/2 is TXN-8f2c61d0, 25.50 GHS.'),
  });
  expect(await shop.journal.read('17/2')).toMatchObject({ resolutions: [{ by: 'kofi@shop.example' }] });
});

describe('says that an order needs nothing more', () => {
  const cases = [
    [found('17/1'), 'is TXN-8f2c61d0, 25.50 GHS.', 'Once it is paid, it pays the order 17.'],
    [notCharged('17/1', '--yes'), 'was not charged.', 'The customer can pay the order 17 again'],
    [['resolve', '17/1', '--closed', ...note], 'is closed.', 'The customer can pay the order 17 again'],
  ] as const;
  test.each(cases)('after %j', async (args, done, next) => {
    const shop = await startUnresolved('key');
    const { service = '' } = (await shop.journal.read('key')) ?? {};
    await completeKey(shop.journal, '17', { is: 'unknown' }, { kind: 'order', service });
    const { code, out } = await runCommand(args, shop);
    expect([code, out]).toEqual([0, expect.stringContaining(`Resolved: 17/1 ${done}`)]);
    expect(out).toContain(next);
    expect(out).not.toContain('verify the reference');
  });
});

describe('changes nothing', () => {
  async function expectUnchanged(shop: Shop, args: readonly string[], message: string | RegExp) {
    const before = await shop.journal.read('order-17/1');
    const { code, out, err } = await runCommand(args, shop);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/^\s+at /m);
    const after = await shop.journal.read('order-17/1');
    expect({ ...after, updatedAt: 0 }).toEqual({ ...before, updatedAt: 0 });
  }

  const OTHER = 'order-39d3d254-f345-43e1-93cd-0b22c3c14b6e/1';
  const accept = ['resolve', 'order-17/1', '--accepted', ...note];

  test.each<[string, args: string[], message: string | RegExp, prepare?: (shop: Shop) => unknown]>([
    [
      'the service does not know the reference',
      found('order-17/1', 'TXN-other'),
      'The service has no such transaction. Nothing was changed.',
    ],
    [
      'the reference is recorded under another key, which it names whole',
      found('order-17/1'),
      `TXN-8f2c61d0 belongs to the key "${OTHER}": one transaction cannot pay for two. Nothing was changed.`,
      async (shop) => {
        await shop.leaveUnresolved(OTHER);
        await runCommand(found(OTHER), shop);
      },
    ],
    [
      'the service is down',
      found('order-17/1'),
      /no connection.*\nThe service could not be asked, and nothing was changed\. Run the command again later\./,
      ({ service: { server } }) => {
        server.close();
        server.closeAllConnections();
      },
    ],
    [
      'the resolution does not fit',
      accept,
      '"accepted" does not fit this payment. Nothing was changed. It can be { reference } or not_charged or closed.',
    ],
  ])('if %s', async (_what, args, message, prepare = () => {}) => {
    const shop = await startUnresolved('order-17/1');
    await prepare(shop);
    await expectUnchanged(shop, args, message);
  });

  test('if a process is charging under the key', async () => {
    const shop = await startUnresolved('order-1');
    const { service = '' } = (await shop.journal.read('order-1')) ?? {};
    await claimKey(shop.journal, 'order-17/1', { service });
    const args = notCharged('order-17/1', '--yes');
    await expectUnchanged(shop, args, /A process is charging under this key now/);
  });

  test('if an order is named where a payment is meant', async () => {
    const shop = await startShop();
    await completeKey(shop.journal, '17', { is: 'unknown' }, { kind: 'order' });
    const { code, err } = await runCommand(notCharged('17', '--yes'), shop);
    expect([code, err]).toEqual([
      1,
      'payment-journal: This is an order: resolve one of its payments, such as 17/1. Nothing was changed.\n',
    ]);
    expect(await shop.journal.read('17/1')).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  test('if another person resolves the key while the amount is typed', async () => {
    const store = memoryStore();
    const shop = await startUnresolved('order-17/1', memoryJournal({ store }));
    const other = memoryJournal({ store });
    const { read } = shop.journal;
    let reads = 0;
    Object.assign(shop.journal, {
      async read(key: string) {
        const entry = await read(key);
        if (++reads === 1)
          await other.resolve(key, { reference: 'TXN-of-ama' }, { by: 'ama', reason: 'found' });
        return entry;
      },
    });
    const { code, err } = await runCommand(notCharged('order-17/1'), {
      exports: shop.exports,
      isTTY: true,
      typed: '25.50',
    });
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('This payment was changed meanwhile by ama: TXN-of-ama.'),
    ]);
    expect(await other.read('order-17/1')).toMatchObject({
      state: 'completed',
      resolutions: [{ by: 'ama' }],
    });
  });
});

describe('--not-charged', () => {
  test.each(['25.50', '25.5', ' 25.50 ', '25.500'])('is confirmed by the amount: %j', async (typed) => {
    const shop = await startUnresolved('order-17/1');
    const surroundings = { ...shop, isTTY: true, typed, env: { NO_COLOR: '1' } };
    const { code, out, err } = await runCommand(notCharged('order-17/1'), surroundings);
    expect(err).toContain('Key          order-17/1\n');
    expect(err).toContain('the customer could then pay twice');
    expect(err).toMatch(/To confirm that no charge exists, type its amount \(25\.50 GHS\): $/);
    expect([code, out]).toEqual([
      0,
      'Resolved: order-17/1 was not charged. Open its order again in your shop.\n' +
        'Nothing tells the shop of it. The next call under the key can charge.\n',
    ]);
    expect(await shop.journal.read('order-17/1')).toMatchObject({ state: 'not_charged' });
  });

  test.each([
    ['25', 'That is not the amount. Nothing was changed.'],
    ['25.51', 'That is not the amount. Nothing was changed.'],
    ['yes', 'That is not the amount. Nothing was changed.'],
    ['-25.50', 'That is not the amount. Nothing was changed.'],
    ['', 'No amount was typed. Nothing was changed.'],
    [null, 'No amount was typed. Nothing was changed.'],
  ])('is not confirmed by %j', async (typed, message) => {
    const shop = await startUnresolved('order-17/1');
    const { code, out, err } = await runCommand(notCharged('order-17/1'), { ...shop, isTTY: true, typed });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(message);
    expect(await shop.journal.read('order-17/1')).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  test('is refused without a terminal and without --yes', async () => {
    const shop = await startUnresolved('order-17/1');
    const { code, err } = await runCommand(notCharged('order-17/1'), { ...shop, typed: '25.50' });
    expect([code, err]).toEqual([
      1,
      'payment-journal: --not-charged has to be confirmed, and there is no terminal to ask at. Nothing was changed.\n' +
        'Read the entry with npx payment-journal show, then add --yes.\n',
    ]);
    expect(await shop.journal.read('order-17/1')).toMatchObject({ state: 'unknown' });
  });
});
