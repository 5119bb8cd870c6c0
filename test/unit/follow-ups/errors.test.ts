/** What a sweep does about an API key that is refused, a journal that fails and records that it cannot use. */

import { describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConfigurationError,
  JournalError,
  PermissionError,
} from '../../../src/index.ts';
import { type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { catchError } from '../../helpers/service.ts';
import { HOUR, MINUTE, SECOND, sweepFor } from '../../helpers/world.ts';
import { always, findFollowUps, limitClaims, openPaid, toPauses } from './keys.ts';

describe('an API key', () => {
  test.each([
    [401, AuthenticationError],
    [403, PermissionError],
  ])('that is refused with a %d ends the sweep, and all are due at once', async (status, kind) => {
    const { shop, service, journal, checks, attentions } = await openPaid(100);
    service.fault('verify', { kind: 'status', status }, always);
    expect(await catchError(shop.followUps.sweep())).toBeInstanceOf(kind);
    expect(checks.length).toBeLessThanOrEqual(64);
    expect(await countDue(journal)).toMatchObject({ due: 100 });
    expect(attentions).toEqual([]);
  });

  test('that a function cannot give ends a sweep in which any payment is due', async () => {
    const { start, journal, checks } = await openPaid(3, { store: limitClaims(20) });
    const sealed = () => {
      throw new Error('the vault is sealed');
    };
    const { followUps } = start({ client: { apiKey: sealed } });
    expect(await catchError(followUps.sweep())).toBeInstanceOf(ConfigurationError);
    expect(checks).toEqual([]);
    expect(await countDue(journal)).toMatchObject({ due: 3 });
    const apiKey = vi.fn(() => 'sk_test_x');
    await start({ store: memoryStore(), client: { apiKey } }).followUps.sweep();
    expect(apiKey).not.toHaveBeenCalled();
  });
});

describe('a payment that the API key may not read', () => {
  function openForbidden(others: number, client = {}) {
    let left = always.times;
    return openPaid(11, {
      client,
      respond({ method, url }) {
        if (method === 'POST' || --left < 0) return undefined;
        if (url.endsWith('TXN-000001')) return Response.json({ message: 'not yours' }, { status: 403 });
        return others === 200 ? undefined : Response.json({}, { status: others });
      },
    });
  }

  test('delays none of ten others, and is checked after pauses that double', async () => {
    const { shop, checks, finals } = await openForbidden(200);
    const swept = { checked: 11, final: 10, due: 0 };
    await expect(shop.followUps.sweep()).resolves.toMatchObject(swept);
    await sweepFor(10 * MINUTE, shop.followUps);
    expect(finals).toHaveLength(10);
    const denied = checks.filter(({ reference }) => reference === 'TXN-000001');
    expect(toPauses(denied)).toEqual([30, 60, 120, 240]);
  });

  test('ends the sweep if no other payment was read', async () => {
    const { shop } = await openForbidden(500);
    expect(await catchError(shop.followUps.sweep())).toBeInstanceOf(PermissionError);
    const alone = await openForbidden(200, { polling: { maxConcurrency: 1 } });
    expect(await catchError(alone.shop.followUps.sweep())).toBeInstanceOf(PermissionError);
    expect(alone.finals).toEqual([]);
    await sweepFor(20 * SECOND, alone.shop.followUps);
    expect(alone.finals).toHaveLength(10);
  });
});

describe('a journal that fails at a write', () => {
  function openFailing(count: number, fails: (key: string, text: string) => boolean) {
    const store = memoryStore();
    const state = { isAway: false };
    const write: JournalStore['write'] = async (key, change) => {
      if (state.isAway && fails(key, change.text)) throw new Error('away');
      return await store.write(key, change);
    };
    return openPaid(count, { store: { ...store, write } }).then((made) => ({ ...made, state }));
  }

  test('ends the sweep, and what was not recorded is done again', async () => {
    const { shop, state, finals, checks } = await openFailing(4, (key) => key === 'key order-2');
    state.isAway = true;
    expect(await catchError(shop.followUps.sweep())).toBeInstanceOf(JournalError);
    expect(finals.map(({ key }) => key).sort()).toEqual(['order-1', 'order-3', 'order-4']);
    state.isAway = false;
    await sweepFor(50 * SECOND, shop.followUps);
    expect([finals.length, checks.length]).toEqual([4, 5]);
  });

  test('is asked again for a moment, so that onFinal is not called twice', async () => {
    let failures = 0;
    const made = await openFailing(1, (_, text) => text.includes('"final":"success"') && ++failures <= 3);
    made.state.isAway = true;
    expect(await made.shop.followUps.sweep()).toMatchObject({ final: 1, due: 0 });
    await sweepFor(50 * SECOND, made.shop.followUps);
    expect(failures).toBeGreaterThan(3);
    expect(made.finals).toHaveLength(1);
  });
});

describe('a record', () => {
  /** Changes the text of a record, as another program would. */
  async function changeText(store: JournalStore, key: string, change: (text: string) => string) {
    const { record, now } = await store.read(`key ${key}`);
    const text = change(record?.text ?? '');
    if (!record || text === record.text) throw new Error(`${key} was not changed`);
    const time = Math.round(now);
    const index = { kind: 'key', createdAt: time, attentionAt: null, dueAt: time } as const;
    const changed = { expected: record.version, version: 'changed', text, mustCommit: false, index };
    await store.write(`key ${key}`, changed);
  }

  test.each([
    ['of a newer format', (text: string) => text.replace('"format":1', '"format":2')],
    ['that is damaged', (text: string) => text.slice(0, -9)],
  ])('%s is reported each day, kept, listed, and stops nothing else', async (_, damage) => {
    const { shop, store, journal, events, finals } = await openPaid(5, {
      client: { polling: { maxConcurrency: 1 } },
    });
    const keys = ['order-1', 'order-2', 'order-3'];
    for (const key of keys) await changeText(store, key, damage);
    const readTexts = () =>
      Promise.all(keys.map(async (key) => (await store.read(`key ${key}`)).record?.text));
    const texts = await readTexts();
    expect(await journal.count()).toEqual({ records: 5, attention: 0 });
    expect(await shop.followUps.sweep()).toMatchObject({ final: 2, due: 0 });
    const listReported = () =>
      findFollowUps(events).flatMap(({ result, idempotencyKey }) =>
        result === 'unreadable' ? [idempotencyKey] : [],
      );
    expect(await journal.count()).toEqual({ records: 5, attention: 3 });
    const listing = await catchError(journal.listAttention().next());
    expect(String(listing)).toContain('"order-1", "order-2", "order-3" cannot be read');
    await sweepFor(23 * HOUR, shop.followUps);
    expect(listReported()).toEqual(keys);
    await sweepFor(2 * HOUR, shop.followUps);
    expect(listReported()).toEqual([...keys, ...keys]);
    expect(await readTexts()).toEqual(texts);
    expect(finals).toHaveLength(2);
  });

  test('of another service is said once, postponed, and the others are followed', async () => {
    const { shop, store, events, finals, checks } = await openPaid(7, {
      client: { polling: { maxConcurrency: 4 } },
    });
    // A whole page of them is due first.
    for (const key of ['order-1', 'order-2', 'order-3', 'order-4'])
      await changeText(store, key, (text) => text.replace(/"service":"[^"]*"/, '"service":"another"'));
    expect(await shop.followUps.sweep()).toMatchObject({ final: 3, due: 0 });
    await sweepFor(3 * HOUR, shop.followUps);
    expect(findFollowUps(events).filter(({ result }) => result === 'failed')).toMatchObject([
      { idempotencyKey: 'order-1', error: expect.stringContaining('another base URL or mode') },
    ]);
    expect([finals.length, checks.length]).toEqual([3, 3]);
  });

  test('that cannot be told of is reported, and all others are delivered', async () => {
    let isAway = true;
    const told: string[] = [];
    const { shop, store, clock, events } = await openPaid(2, {
      onFinal({ key }) {
        if (isAway) throw new Error('the shop is away');
        told.push(key);
      },
    });
    await shop.followUps.sweep();
    // A person has edited it.
    await changeText(store, 'order-1', (text) => text.replaceAll('"25.50"', '"much"'));
    isAway = false;
    await clock.pass(MINUTE);
    await shop.followUps.sweep();
    expect(told).toEqual(['order-2']);
    const failed = { result: 'failed', idempotencyKey: 'order-1', error: expect.any(String) };
    expect(findFollowUps(events)).toContainEqual(expect.objectContaining(failed));
  });
});
