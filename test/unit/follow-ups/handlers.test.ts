/** How handlers are called: again, slowly, beside other processes, and what is said of it. */

import { describe, expect, test, vi } from 'vitest';
import type { Logger } from '../../../src/index.ts';
import { nextDelay } from '../../../src/schedule.ts';
import { sleep } from '../../helpers/clock.ts';
import { API_KEY, EMAIL, PHONE } from '../../helpers/service.ts';
import {
  DAY,
  getReference,
  MINUTE,
  momo,
  type ProcessOptions,
  SECOND,
  slow,
  sweepFor,
  world,
} from '../../helpers/world.ts';
import { another, otherNumber } from '../orders/beginnings.ts';
import { always, chargeKey, findFollowUps, limitClaims, loseKey, never, openPaid, toPauses } from './keys.ts';

/** Records its calls, of which the first `failures` throw. */
function createFailing(failures: number, thrown: unknown = new Error('the database is away')) {
  const calls: { readonly at: number; readonly final: unknown }[] = [];
  const onFinal: ProcessOptions['onFinal'] = (final) => {
    calls.push({ at: Date.now(), final });
    if (calls.length <= failures) throw thrown;
  };
  return { calls, onFinal };
}

describe('onFinal', () => {
  test('is called again while it throws, from what is recorded, for ever', async () => {
    const { calls, onFinal } = createFailing(10);
    const { shop, store, checks, attentions } = await openPaid(1, { onFinal });
    await shop.followUps.sweep();
    expect(JSON.stringify(await store.read('key order-1'))).not.toMatch(
      new RegExp(`${EMAIL}|${PHONE.slice(-4)}`),
    );
    await sweepFor(10 * 60 * MINUTE, shop.followUps);
    expect(toPauses(calls)).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
    const [{ reference } = { reference: '' }] = checks;
    const paid_at = expect.stringMatching(/^2\d\d\d-/);
    const transaction = { reference, status: 'success', amount: '25.50', currency: 'GHS', paid_at };
    expect(calls.slice(0, 2).map(({ final }) => final)).toEqual([
      { key: 'order-1', reference, transaction: { ...transaction, customer_email: EMAIL } },
      { key: 'order-1', reference, transaction: { ...transaction, customer_email: null } },
    ]);
    expect([checks.length, attentions.length]).toEqual([1, 0]);
  });

  test('is called again after a clock was set back by days', async () => {
    const { calls, onFinal } = createFailing(1);
    const { shop, clock } = await openPaid(1, { onFinal, store: limitClaims(20) });
    clock.jump(8 * DAY);
    await shop.followUps.sweep();
    clock.jump(-8 * DAY);
    expect(calls).toHaveLength(1);
    expect(await shop.followUps.sweep()).toMatchObject({ due: 0 });
    expect(calls).toHaveLength(2);
  });

  test.each([undefined, null, 'text', Object.create(null)])(
    'is called again if it throws %o',
    async (thrown) => {
      const { calls, onFinal } = createFailing(1, thrown);
      const { shop } = await openPaid(1, { onFinal });
      await sweepFor(MINUTE, shop.followUps);
      expect(calls).toHaveLength(2);
    },
  );

  test('is not called for a status that finalStatuses leaves out', async () => {
    const { shop, service, finals } = world({
      client: { polling: { finalStatuses: ['success', 'failed'] } },
    });
    const reference = await chargeKey(shop);
    service.script(reference, ['pending', 'processing', 'abandoned']);
    await sweepFor(MINUTE, shop.followUps);
    expect(finals).toEqual([]);
    service.approve(reference);
    await sweepFor(MINUTE, shop.followUps);
    expect(finals).toMatchObject([{ status: 'success' }]);
  });

  test('is called once if a notification comes while another process checks', async () => {
    let isSlow = true;
    const calls: string[] = [];
    const toHandler = (name: string) => async () => {
      calls.push(name);
      await sleep(1.5 * SECOND);
    };
    const { shop, start, clock, checks } = await openPaid(1, {
      onFinal: toHandler('slow'),
      async respond({ method }) {
        if (method === 'GET' && isSlow) await sleep(2 * SECOND);
        return undefined;
      },
    });
    const sweeping = shop.followUps.sweep();
    await clock.pass(SECOND);
    isSlow = false;
    const { followUps } = start({ onFinal: toHandler('notified') });
    await followUps.notify(checks[0]?.reference);
    await Promise.all([followUps.sweep(), sweeping]);
    expect(checks).toHaveLength(2);
    expect(calls).toEqual(['notified']);
  });

  test('is called once if a notification comes while its own process checks', async () => {
    let calls = 0;
    const { shop, clock, checks } = await openPaid(1, {
      respond: slow('GET', 5 * SECOND),
      async onFinal() {
        calls++;
        await sleep(20 * SECOND);
      },
    });
    const sweeping = shop.followUps.sweep();
    await clock.pass(SECOND);
    await shop.followUps.notify(checks[0]?.reference);
    await sweeping;
    expect(calls).toBe(1);
    expect(checks).toHaveLength(1);
  });
});

describe('a payment that a process holds', () => {
  test.each<[what: string, options: Parameters<typeof world>[0]]>([
    ['a handler', { onFinal: () => sleep(10 * MINUTE) }],
    ['a check', { client: { timeout: 15 * MINUTE }, respond: slow('GET', 10 * MINUTE) }],
  ])('is left alone by others, however long %s takes', async (_, options) => {
    const { shop, start, service, clock, checks, finals } = await openPaid(1, options);
    const slowly = shop.followUps.sweep();
    const other = start().followUps;
    await clock.pass(100);
    await sweepFor(4 * MINUTE, other);
    const reference = service.charges[0]?.reference;
    if (options?.onFinal) await other.notify(reference);
    await sweepFor(5 * MINUTE, other);
    expect(finals).toEqual([]);
    expect(await slowly).toMatchObject({ final: 1, due: 0 });
    await other.notify(reference);
    await sweepFor(MINUTE, other);
    expect(checks).toHaveLength(1);
  });

  test('is left alone between two of its handlers', async () => {
    const told: string[] = [];
    const { shop, start, service, clock, attentions } = world({
      onPaid: () => sleep(1.3 * SECOND),
      async onAttention({ reason }) {
        told.push(reason);
        await sleep(10 * SECOND);
      },
    });
    service.approve(getReference(await shop.orders.charge('17', momo)));
    await clock.pass(SECOND / 2);
    service.approve(getReference(await shop.orders.charge('17', otherNumber, another)));
    await clock.pass(20 * SECOND);
    const sweeping = shop.orders.sweep();
    await clock.pass(1.5 * SECOND);
    await start().orders.sweep();
    await sweeping;
    expect(told).toEqual(['paid_twice']);
    expect(attentions).toEqual([]);
  });
});

describe('150 handlers that hang', () => {
  test('are reported after a minute, and hold back no check and no handler', async () => {
    const finals: string[] = [];
    const { shop, service, clock, checks, events } = await openPaid(150, {
      client: { polling: { maxConcurrency: 10, maxRequestsPerSecond: 10_000 } },
      onFinal: ({ key }) => (key === 'late' ? finals.push(key) : never()),
    });
    const reference = await chargeKey(shop, 'late');
    const chargedAt = clock.now;
    void shop.followUps.run();
    await clock.pass(MINUTE);
    const times = checks.filter((check) => check.reference === reference).map(({ at }) => at - chargedAt);
    expect(times.length).toBeGreaterThanOrEqual(8);
    for (const [index, at] of times.entries()) {
      const late = at - (times[index - 1] ?? 0) - (nextDelay({ elapsed: times[index - 1] ?? 0 }) ?? 0);
      // While handlers run, what is due is claimed each second.
      expect(late).toBeLessThanOrEqual(1_100);
    }
    service.approve(reference);
    await clock.pass(3 * MINUTE);
    expect(finals).toEqual(['late']);
    const reported = findFollowUps(events).filter(({ result }) => result === 'handler_slow');
    expect(reported).toHaveLength(150);
    expect(reported[0]).toMatchObject({ idempotencyKey: 'order-1', reference: 'TXN-000001' });
  });
});

describe('more handlers than run at once', () => {
  const polling = { maxConcurrency: 100, maxRequestsPerSecond: 10_000 };

  test('end with their sweep, and are called by the next one', async () => {
    const finals = new Set<string>();
    const { shop, clock } = await openPaid(200, {
      client: { polling },
      async onFinal({ key }) {
        await sleep(20 * SECOND);
        finals.add(key);
      },
    });
    await expect(shop.followUps.sweep({ budget: 10 * SECOND })).resolves.toMatchObject({ due: 136 });
    expect(finals.size).toBe(64);
    await clock.pass(MINUTE);
    await shop.followUps.sweep();
    expect(finals.size).toBe(200);
  });

  test('wait for 1,000 records at most', async () => {
    const { shop, clock, checks } = await openPaid(1_250, { client: { polling }, onFinal: never });
    void shop.followUps.run();
    await clock.pass(30 * SECOND);
    expect(checks.length).toBeGreaterThanOrEqual(1_000);
    expect(checks.length).toBeLessThanOrEqual(1_100);
  });
});

describe('what is written', () => {
  /** Collects the lines of follow-ups with their level. */
  function createLines() {
    const lines: string[] = [];
    const take = (level: string) => (line: string) => {
      if (line.includes('follow-up')) lines.push(`${level} ${line}`);
    };
    const levels = { debug: take('debug'), info: take('info'), warn: take('warn'), error: take('error') };
    return { lines, logger: levels satisfies Logger };
  }

  test('is a line for each step, at the level that it needs', async () => {
    const { lines, logger } = createLines();
    const { onFinal } = createFailing(1, new RangeError('out of stock'));
    const made = await openPaid(1, { client: { logger }, onFinal });
    await loseKey(made, 'order-2');
    await sweepFor(MINUTE, made.shop.followUps);
    expect(lines.sort()).toEqual([
      'debug payments: follow-up TXN-000001, final (success), key "order-1"',
      'error payments: follow-up TXN-000001, handler failed, RangeError: out of stock, key "order-1"',
      'info payments: follow-up TXN-000001, delivered (success), key "order-1"',
      'warn payments: follow-up, attention (unresolved), key "order-2"',
    ]);
  });

  test('is one line, without secrets, whatever a handler throws', async () => {
    const { lines, logger } = createLines();
    const said = `cannot email ${EMAIL} about ${API_KEY}\r\npayments: follow-up TXN-000009, delivered\u2028\u001b[2J`;
    const { onFinal } = createFailing(1, new TypeError(said));
    const { shop, events } = await openPaid(1, { client: { logger }, onFinal });
    await shop.followUps.sweep();
    expect(lines).toContain(
      'error payments: follow-up TXN-000001, handler failed, TypeError: cannot email [REDACTED] about [REDACTED] ' +
        'payments: follow-up TXN-000009, delivered [2J, key "order-1"',
    );
    expect(findFollowUps(events)[1]?.error).toContain('TypeError: cannot email [REDACTED] about [REDACTED]');
  });

  test('redacts the key of a call, which the handlers get as it is', async () => {
    const { shop, service, clock, events, finals } = world();
    const key = `ama@example.com ${API_KEY}`;
    service.approve(await chargeKey(shop, key));
    await clock.pass(10 * SECOND);
    await shop.followUps.sweep();
    expect(finals).toMatchObject([{ key }]);
    expect(JSON.stringify(findFollowUps(events))).not.toMatch(new RegExp(`${API_KEY}|ama@example.com`));
  });

  test('without a logger, is what failed and each pause, by console.error', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { onFinal } = createFailing(1);
    const { shop, service, clock } = await openPaid(1, { client: { logger: undefined }, onFinal });
    await sweepFor(MINUTE, shop.followUps);
    await chargeKey(shop, 'order-2');
    service.fault('verify', { kind: 'status', status: 401 }, always);
    void shop.followUps.run();
    await clock.pass(45 * SECOND);
    service.clearFaults();
    await clock.pass(20 * MINUTE);
    expect(written.mock.calls).toEqual([
      [expect.stringMatching(/handler failed.*the database is away.*order-1/)],
      [expect.stringMatching(/paused, AuthenticationError.*30000 ms/)],
      [expect.stringMatching(/paused, AuthenticationError.*60000 ms/)],
    ]);
  });

  test('is a poll for each check, and no wait', async () => {
    const { shop, events } = await openPaid(3);
    await shop.followUps.sweep();
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type === 'poll')).toHaveLength(3);
    expect(types).not.toContain('wait');
  });
});
