import { beforeEach, expect, test, vi } from 'vitest';
import type { Logger } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish, loseCharge, openShop, sweepFor } from '../../helpers/follow-ups.ts';
import { API_KEY } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Collects the lines of follow-ups with their level. */
function createLines() {
  const lines: string[] = [];
  const take = (level: string) => (line: string) => {
    if (line.includes('follow-up')) lines.push(`${level} ${line}`);
  };
  const logger: Logger = {
    debug: take('debug'),
    info: take('info'),
    warn: take('warn'),
    error: take('error'),
  };
  return { lines, logger };
}

test('writes a line for each step, at the level that it needs', async () => {
  const shop = openShop();
  const { lines, logger } = createLines();
  shop.service.approve(await finish(shop.charge('order-1')));
  await loseCharge(shop, 'order-2');
  let calls = 0;
  const onFinal = () => {
    if (++calls === 1) throw new RangeError('out of stock');
  };
  await sweepFor(60 * SECOND, shop.start({ onFinal }, { logger }));
  expect(lines).toEqual([
    'warn payments: follow-up, attention (unresolved), key "order-2"',
    'debug payments: follow-up TXN-000001, final (success), key "order-1"',
    'error payments: follow-up TXN-000001, handler failed, RangeError: out of stock, key "order-1"',
    'info payments: follow-up TXN-000001, delivered (success), key "order-1"',
  ]);
});

test('writes one line if the message of a handler has several', async () => {
  const shop = openShop();
  const { lines, logger } = createLines();
  shop.service.approve(await finish(shop.charge('order-1')));
  const onFinal = () => {
    throw new Error('out of stock\r\npayments: follow-up TXN-000009, delivered (success)\u2028\u001b[2J');
  };
  await sweepFor(10 * SECOND, shop.start({ onFinal }, { logger }));
  expect(lines).toContain(
    'error payments: follow-up TXN-000001, handler failed, Error: out of stock payments: follow-up TXN-000009, ' +
      'delivered (success) [2J, key "order-1"',
  );
});

test('writes an error when a run pauses', async () => {
  const shop = openShop();
  const { lines, logger } = createLines();
  const { run, journal } = shop.start({}, { logger });
  vi.spyOn(getRecords(journal), 'claimDue').mockRejectedValue(new Error('no route'));
  const stop = new AbortController();
  const running = run({ signal: stop.signal });
  await pass(SECOND, 100);
  stop.abort();
  await finish(running);
  expect(lines).toEqual(['error payments: follow-up, paused, Error: no route, next in 30000 ms']);
});

test('redacts the key of a call, and gives the handlers the key as it is', async () => {
  const shop = openShop();
  const key = `ama@example.com ${API_KEY}`;
  shop.service.approve(await finish(shop.charge(key)));
  await sweepFor(10 * SECOND, shop.start());
  expect(shop.finals).toMatchObject([{ key }]);
  expect(JSON.stringify(shop.events)).not.toContain(API_KEY);
  expect(JSON.stringify(shop.events)).not.toContain('ama@example.com');
});
