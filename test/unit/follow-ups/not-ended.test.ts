import { beforeEach, describe, expect, test, vi } from 'vitest';
import { PermissionError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/create-journal.ts';
import { memoryStore } from '../../../src/journal/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import {
  changeText,
  type FollowedShop,
  findFollowUpEvents,
  finish,
  openShop,
  sweepFor,
} from '../../helpers/follow-ups.ts';
import { catchError } from '../../helpers/service.ts';

const DAY = 24 * 60 * MINUTE;

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const findResults = ({ events }: FollowedShop) => findFollowUpEvents(events).map(({ result }) => result);

describe('a clock that is wrong', () => {
  test('ends no follow-up if it is eight days ahead for one sweep', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const followUps = shop.start();
    const now = Date.now();
    vi.setSystemTime(now + 8 * DAY);
    await finish(followUps.sweep());
    vi.setSystemTime(now);
    expect(shop.gets).toHaveLength(1);
    expect(findResults(shop)).not.toContain('given_up');
    shop.service.approve(reference);
    await sweepFor(MINUTE, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  });

  test('ends no follow-up if it was 30 days behind at the charge', async () => {
    const shop = openShop();
    const now = Date.now();
    vi.setSystemTime(now - 30 * DAY);
    const reference = await finish(shop.charge('order-1'));
    vi.setSystemTime(now);
    const followUps = shop.start();
    await sweepFor(2 * DAY, followUps);
    expect(findResults(shop)).not.toContain('given_up');
    shop.service.approve(reference);
    await sweepFor(2 * 60 * MINUTE, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  });
});

describe('a payment that was given up', () => {
  test('is delivered if a notification comes after all', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const followUps = shop.start();
    await sweepFor(8 * DAY, followUps);
    expect(findResults(shop)).toContain('given_up');
    shop.service.approve(reference);
    await finish(followUps.notify(reference));
    await sweepFor(SECOND, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  });

  test('is checked once for each notification', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const followUps = shop.start();
    await sweepFor(8 * DAY, followUps);
    const count = shop.gets.length;
    for (let notified = 0; notified < 3; notified++) {
      await finish(followUps.notify(reference));
      await sweepFor(DAY, followUps);
    }
    expect(shop.gets).toHaveLength(count + 3);
  });

  test('is not given up sooner because of notifications', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const followUps = shop.start();
    await sweepFor(2 * 60 * MINUTE, followUps);
    for (let notified = 0; notified < 200; notified++) {
      await finish(followUps.notify(reference));
      await sweepFor(2 * SECOND, followUps);
    }
    expect(findResults(shop)).not.toContain('given_up');
  });
});

describe('a payment that the API key may not read', () => {
  async function openForbiddenShop(status: number) {
    const shop = openShop({
      async intercept({ method, url }) {
        if (method === 'POST') return undefined;
        if (url.endsWith('TXN-000001')) return Response.json({ message: 'not yours' }, { status: 403 });
        return status === 200 ? undefined : Response.json({}, { status });
      },
    });
    for (let order = 1; order <= 11; order++)
      shop.service.approve(await finish(shop.charge(`order-${order}`)));
    await pass(8 * SECOND);
    return shop;
  }

  test('delays none of ten others, and is checked after pauses that double', async () => {
    const shop = await openForbiddenShop(200);
    await sweepFor(10 * MINUTE, shop.start());
    expect(shop.finals).toHaveLength(10);
    const times = shop.gets.filter(({ reference }) => reference === 'TXN-000001').map(({ at }) => at);
    const pauses = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1_000));
    expect(pauses).toEqual([30, 60, 120, 240]);
  });

  test('does not end a sweep under cron while others are read', async () => {
    const shop = await openForbiddenShop(200);
    const followUps = shop.start();
    const first = await finish(followUps.sweep());
    expect(first).toMatchObject({ checked: 11, final: 10, due: 0 });
  });

  test('ends the sweep if the other checks fail too', async () => {
    const shop = await openForbiddenShop(500);
    expect(await finish(catchError(shop.start().sweep()))).toBeInstanceOf(PermissionError);
  });
});

test('says a record of another service once, postpones it, and follows the others', async () => {
  const shop = openShop();
  for (let order = 1; order <= 5; order++) shop.service.approve(await finish(shop.charge(`order-${order}`)));
  for (const key of ['key order-1', 'key order-2'])
    await changeText(shop.store, key, (text) => text.replace(/"service":"[^"]*"/, '"service":"another"'));
  await pass(8 * SECOND);
  const followUps = shop.start();
  expect(await finish(followUps.sweep())).toMatchObject({ final: 3, due: 0 });
  await sweepFor(3 * 60 * MINUTE, followUps);
  expect(findFollowUpEvents(shop.events).filter(({ result }) => result === 'failed')).toMatchObject([
    { idempotencyKey: 'order-1', error: expect.stringContaining('another base URL or mode') },
  ]);
  expect(shop.gets).toHaveLength(3);
});

test('records each step again that the database gave up', async () => {
  const store = memoryStore();
  let writes = 0;
  const shop = openShop({
    store: {
      ...store,
      // As after a deadlock: nothing was written, and no other process has changed the record.
      write: async (key, change) => (++writes % 2 === 0 ? false : store.write(key, change)),
    },
  });
  for (let order = 1; order <= 20; order++) shop.service.approve(await finish(shop.charge(`order-${order}`)));
  await sweepFor(2 * MINUTE, shop.start());
  expect(shop.finals).toHaveLength(20);
  expect(shop.gets).toHaveLength(20);
});

describe('a handler that hangs', () => {
  const polling = { maxConcurrency: 10, maxRequestsPerSecond: 10_000 };

  test('is reported after a minute, and 150 of them hold back no other payment', async () => {
    const shop = openShop();
    const finals: string[] = [];
    const onFinal = ({ key }: { key: string }) => {
      if (key.startsWith('hangs')) return new Promise(() => {});
      finals.push(key);
      return undefined;
    };
    for (let order = 1; order <= 150; order++)
      shop.service.approve(await finish(shop.charge(`hangs-${order}`)));
    shop.service.approve(await finish(shop.charge('order-1')));
    shop.start({ onFinal }, { polling }).run();
    await pass(5 * MINUTE, SECOND);
    expect(finals).toEqual(['order-1']);
    const slow = findFollowUpEvents(shop.events).filter(({ result }) => result === 'handler_slow');
    expect(slow).toHaveLength(150);
    expect(slow[0]).toMatchObject({ idempotencyKey: 'hangs-1', reference: 'TXN-000001' });
  });

  test('does not keep run from going on after an error of the journal', async () => {
    const shop = openShop();
    const finals: string[] = [];
    const onFinal = ({ key }: { key: string }) => {
      finals.push(key);
      return key === 'order-1' ? new Promise(() => {}) : undefined;
    };
    shop.service.approve(await finish(shop.charge('order-1')));
    const { run, journal } = shop.start({ onFinal });
    run();
    await pass(20 * SECOND, 500);
    const spy = vi.spyOn(getRecords(journal), 'claimDue').mockRejectedValue(new Error('ECONNRESET'));
    await pass(5 * SECOND, 500);
    expect(spy).toHaveBeenCalled();
    spy.mockRestore();
    shop.service.approve(await finish(shop.charge('order-2')));
    await pass(2 * MINUTE, 500);
    expect(finals).toEqual(['order-1', 'order-2']);
  });
});

describe('a payment that was abandoned', () => {
  async function openAbandonedShop() {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.abandon(reference);
    const followUps = shop.start();
    await sweepFor(MINUTE, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'abandoned' }]);
    return { shop, reference, followUps };
  }

  test('is delivered once more if it is paid after days', async () => {
    const { shop, reference, followUps } = await openAbandonedShop();
    await sweepFor(6 * DAY, followUps);
    expect(shop.finals).toHaveLength(1);
    shop.service.approve(reference);
    await sweepFor(2 * 60 * MINUTE, followUps);
    expect(shop.finals.map(({ status }) => status)).toEqual(['abandoned', 'success']);
    expect(await followUps.journal.read('order-1')).toMatchObject({ nextCheckAt: undefined });
    expect(shop.attentions).toEqual([]);
  });

  test('is checked at slow pauses for 7 days, and ends without a word', async () => {
    const { shop, followUps } = await openAbandonedShop();
    const results = await sweepFor(8 * DAY, followUps);
    expect(results.at(-1)).toMatchObject({ due: 0, nextAt: null });
    expect(shop.gets.length).toBeLessThan(180);
    const last = shop.gets.at(-1)?.at ?? 0;
    expect(last).toBeGreaterThan(7 * DAY);
    expect(last).toBeLessThan(7 * DAY + 2 * 60 * MINUTE);
    expect(shop.finals).toHaveLength(1);
    expect(shop.attentions).toEqual([]);
    expect(findResults(shop)).toEqual(['final', 'delivered']);
  });

  test('is delivered at a notification', async () => {
    const { shop, reference, followUps } = await openAbandonedShop();
    shop.service.approve(reference);
    await finish(followUps.notify(reference));
    await sweepFor(2 * SECOND, followUps);
    expect(shop.finals.map(({ status }) => status)).toEqual(['abandoned', 'success']);
  });

  test('needs a person if another amount was paid', async () => {
    const { shop, reference, followUps } = await openAbandonedShop();
    shop.service.approve(reference);
    const always = { times: Number.POSITIVE_INFINITY };
    shop.service.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, always);
    await sweepFor(DAY, followUps);
    expect(shop.finals).toHaveLength(1);
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reference, reason: 'mismatch' }]);
  });
});

describe('without a logger', () => {
  test('writes each call of a handler that throws with console.error', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    const shop = openShop();
    shop.service.approve(await finish(shop.charge('order-1')));
    const onFinal = () => {
      throw new Error('the database is away');
    };
    await sweepFor(2 * MINUTE, shop.start({ onFinal }, { logger: undefined }));
    expect(error.mock.calls.length).toBe(findResults(shop).filter((r) => r === 'handler_failed').length);
    expect(error).toHaveBeenCalledWith(
      expect.stringMatching(/handler failed.*the database is away.*order-1/),
    );
  });

  test('writes each pause of run with console.error', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    const shop = openShop();
    await finish(shop.charge('order-1'));
    const always = { times: Number.POSITIVE_INFINITY };
    shop.service.fault('verify', { kind: 'status', status: 401 }, always);
    const stop = new AbortController();
    const running = shop.start({}, { logger: undefined }).run({ signal: stop.signal });
    await pass(MINUTE, 500);
    stop.abort();
    await finish(running);
    expect(error).toHaveBeenCalledTimes(2);
    expect(error).toHaveBeenCalledWith(expect.stringMatching(/paused, AuthenticationError.*30000 ms/));
  });

  test('writes nothing else', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    const shop = openShop();
    await finish(shop.charge('order-1'));
    await sweepFor(DAY, shop.start({}, { logger: undefined }));
    expect(shop.attentions).toHaveLength(1);
    expect(error).not.toHaveBeenCalled();
  });
});
