import { beforeEach, describe, expect, test, vi } from 'vitest';
import { PermissionError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import {
  changeText,
  type FollowedShop,
  findFollowUpEvents,
  finish,
  getTimes,
  keepTime,
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
  test('is none of a process: each goes by that of the store', async () => {
    const startedAt = Date.now();
    const clock = performance.now();
    const store = keepTime(memoryStore(), () => startedAt + performance.now() - clock);
    const shop = openShop({ store });
    const reference = await finish(shop.charge('order-1'));
    for (const days of [8, -30, 0]) {
      vi.setSystemTime(Date.now() + days * DAY);
      await finish(shop.start().sweep());
      expect(shop.gets).toEqual([]);
      expect((await store.read('key order-1')).record?.text).not.toContain('seen');
    }
    await pass(8 * SECOND);
    vi.setSystemTime(Date.now() + 8 * DAY);
    expect(await finish(shop.start().sweep())).toMatchObject({ checked: 1, due: 0 });
    expect(shop.attentions).toEqual([]);
    await pass(4 * SECOND);
    shop.service.approve(reference);
    vi.setSystemTime(Date.now() - 30 * DAY);
    expect(await finish(shop.start().sweep())).toMatchObject({ final: 1, due: 0 });
  });

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
    await sweepFor(5 * 60 * MINUTE, followUps);
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

describe.each(['failed', 'abandoned'] as const)('a payment that is %s', (status) => {
  async function openEndedShop() {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.settleAfter(reference, SECOND, status);
    const followUps = shop.start();
    await sweepFor(MINUTE / 2, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status }]);
    return { shop, reference, followUps };
  }

  test('is delivered once more if it is paid after days', async () => {
    const { shop, reference, followUps } = await openEndedShop();
    await sweepFor(6 * DAY, followUps);
    expect(shop.finals).toHaveLength(1);
    shop.service.approve(reference);
    await sweepFor(DAY, followUps);
    expect(shop.finals.map((final) => final.status)).toEqual([status, 'success']);
    expect(await followUps.journal.read('order-1')).toMatchObject({ nextCheckAt: undefined });
    expect(shop.attentions).toEqual([]);
  });

  test('is checked 18 times more, until a week after its end, without a word', async () => {
    const { shop, followUps } = await openEndedShop();
    const results = await sweepFor(9 * DAY, followUps);
    expect(results.at(-1)).toMatchObject({ due: 0, nextAt: null });
    const [first = 0, ...times] = getTimes(shop);
    expect(times).toHaveLength(18);
    const pauses = times.map((at, index) => Math.round((at - (times[index - 1] ?? first)) / 1_000));
    expect(pauses.slice(0, 4)).toEqual([30, 60, 120, 240]);
    expect(pauses.at(-1)).toBe(86_400);
    expect((times.at(-1) ?? 0) - first).toBeGreaterThanOrEqual(7 * DAY);
    expect((times.at(-2) ?? 0) - first).toBeLessThan(7 * DAY);
    expect(shop.finals).toHaveLength(1);
    expect(shop.attentions).toEqual([]);
    expect(findResults(shop)).toEqual(['final', 'delivered']);
  });

  test('is checked once more after months in which nobody swept', async () => {
    const { shop, reference, followUps } = await openEndedShop();
    await pass(60 * DAY, DAY);
    shop.service.approve(reference);
    await finish(followUps.sweep());
    expect(shop.finals.map((final) => final.status)).toEqual([status, 'success']);
  });

  test('is delivered at a notification', async () => {
    const { shop, reference, followUps } = await openEndedShop();
    shop.service.approve(reference);
    await finish(followUps.notify(reference));
    await sweepFor(2 * SECOND, followUps);
    expect(shop.finals.map((final) => final.status)).toEqual([status, 'success']);
  });

  test('needs a person if another amount was paid', async () => {
    const { shop, reference, followUps } = await openEndedShop();
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
