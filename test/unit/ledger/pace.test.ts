import { describe, expect, test } from 'vitest';
import { check, type Finding } from '../../../src/ledger/check.ts';
import { getDueAt, listAttention, listDueChecks } from '../../../src/ledger/order.ts';
import { notify } from '../../../src/ledger/outcome.ts';
import type { LedgerRecord, Payment } from '../../../src/ledger/record.ts';
import { tell, tellLater } from '../../../src/ledger/tell.ts';
import { BEGAN_AT, createOrder, madePayment } from './records.ts';

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

const answered = (status: string) => ({ is: 'answered', status, paid_at: null }) as const;

/** Checks at each time that the record plans, as long as it plans one. Returns the times since the payment began. */
function checkWhenDue(start: LedgerRecord, finding: Finding): { times: number[]; record: LedgerRecord } {
  const times: number[] = [];
  let record = start;
  const getNextAt = () => record.payments[0]?.pace?.nextAt ?? 0;
  for (let now = getNextAt(); listDueChecks(record, now).length > 0; now = getNextAt()) {
    expect(listDueChecks(record, now - 1)).toEqual([]);
    times.push(now - BEGAN_AT);
    record = check(record, 'TXN-1', finding, { askedAt: now, now, random: 0.5 }) ?? record;
  }
  return { times, record };
}

const toPauses = (times: readonly number[]) =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

const toTold = (payment: Payment): Payment => ({ ...payment, told: { ...payment.told, unpaid: true } });

describe('the pace of checks', () => {
  test.each(['pending', 'success'])('checks on a payment of another amount that is %s', (status) => {
    const other = { amount: '2.55', currency: 'GHS' };
    const { times } = checkWhenDue(createOrder(), { is: 'answered', status, paid_at: null, other });
    const pauses = toPauses(times).map((pause) => pause / SECOND);
    expect(pauses.slice(0, 9)).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
    expect(times.at(-1)).toBeGreaterThanOrEqual(7 * DAY);
    expect(times.at(-2)).toBeLessThan(7 * DAY);
  });

  test('no check takes back a success of another amount, and one corrects it', () => {
    const times = { askedAt: BEGAN_AT, now: BEGAN_AT, random: 0.5 };
    const other = { amount: '2.55', currency: 'GHS' };
    const paid = check(createOrder(), 'TXN-1', { ...answered('success'), other }, times);
    const findings: readonly Finding[] = [
      answered('pending'),
      { is: 'not_found' },
      { is: 'failed' },
      { is: 'temporary' },
    ];
    for (const finding of findings) {
      const now = BEGAN_AT + 30 * SECOND;
      const record = check(paid, 'TXN-1', finding, { askedAt: now, now, random: 0.5 });
      expect(record?.payments[0]?.seen).toMatchObject({ status: 'success', other });
      expect(record && getDueAt(record, now)).toBe(now);
      expect(record?.payments[0]?.pace?.nextAt).toBeGreaterThan(now);
      expect(check(record, 'TXN-1', answered('success'), times)?.winner).toBe(1);
    }
  });

  test('follows a payment on whose store was a month behind at the charge', () => {
    const now = BEGAN_AT + 30 * DAY;
    const record = check(createOrder(), 'TXN-1', answered('pending'), { askedAt: now, now, random: 0.5 });
    const { times } = checkWhenDue(record ?? createOrder(), answered('pending'));
    expect((times.at(-1) ?? 0) - 30 * DAY).toBeGreaterThan(5 * 60 * 60 * SECOND);
  });

  test('begins anew after an end, however long the pauses were before it', () => {
    let record: LedgerRecord | null = createOrder();
    for (let now = BEGAN_AT + DAY; now < BEGAN_AT + 2 * DAY; now += DAY / 8)
      record = check(record, 'TXN-1', answered('pending'), { askedAt: now, now, random: 0.5 });
    const now = BEGAN_AT + 2 * DAY;
    const failed = check(record, 'TXN-1', answered('failed'), { askedAt: now, now, random: 0.5 });
    expect(failed && getDueAt({ ...failed, payments: failed.payments.map(toTold) }, now)).toBe(
      now + 30 * SECOND,
    );
  });

  test('a 404 between two other errors begins the day anew after which a payment is unreadable', () => {
    let record: LedgerRecord | null = createOrder();
    for (const finding of ['failed', 'not_found', 'failed'] as const) {
      const now = (record?.payments[0]?.pace?.nextAt ?? 0) + DAY / 2;
      record = check(record, 'TXN-1', { is: finding }, { askedAt: now, now, random: 0.5 });
      expect(record && listAttention(record, now)).toEqual([]);
    }
  });

  test('one 404 makes no transaction gone, however long no other check gets an answer', () => {
    const times = { askedAt: BEGAN_AT, now: BEGAN_AT, random: 0.5 };
    const lost = check(createOrder(), 'TXN-1', { is: 'not_found' }, times);
    expect(lost && listAttention(lost, BEGAN_AT + 60 * SECOND)).toEqual([]);
  });

  test('a handler that succeeds ends the pauses after its failures', () => {
    let record: LedgerRecord | null = createOrder();
    for (let failures = 0; failures < 5; failures++)
      record = tellLater(record, { now: BEGAN_AT, random: 0.5 });
    const told = tell(record, { handler: 'onPaid', number: 1, attempt: 'attempt-1' });
    const later = tellLater(told, { now: BEGAN_AT, random: 0.5 });
    expect(later?.telling).toEqual({ failures: 1, retryAt: BEGAN_AT + 30 * SECOND });
  });

  test('plans nothing after a success', () => {
    const { times, record } = checkWhenDue(createOrder(), answered('success'));
    expect(times).toHaveLength(1);
    expect(record.winner).toBe(1);
  });

  test('a success that was asked for earlier does not make the last check older', () => {
    const [now, random] = [BEGAN_AT + 60 * SECOND, 0.5];
    const pending = check(createOrder(), 'TXN-1', answered('pending'), { askedAt: now, now, random });
    const other = { amount: '2.55', currency: 'GHS' };
    const paid = { ...answered('success'), other };
    const record = check(pending, 'TXN-1', paid, { askedAt: BEGAN_AT, now, random });
    expect(record?.payments[0]?.seen).toMatchObject({ status: 'success', askedAt: now });
  });

  test('no later check changes what is paid', () => {
    const { record } = checkWhenDue(createOrder(), answered('success'));
    const now = BEGAN_AT + DAY;
    const other = { amount: '2.55', currency: 'GHS' };
    for (const finding of [answered('failed'), { ...answered('success'), other }])
      expect(check(record, 'TXN-1', finding, { askedAt: now, now, random: 0.5 })).toBe(record);
  });

  test('waits for as long as a Retry-After says, an hour at most', () => {
    const times = { askedAt: BEGAN_AT + 8_000, now: BEGAN_AT + 8_000, random: 0.5 };
    const getWait = (retryAfter: number) =>
      (check(createOrder(), 'TXN-1', { is: 'temporary' }, { ...times, retryAfter })?.payments[0]?.pace
        ?.nextAt ?? 0) - times.now;
    expect(getWait(60 * SECOND)).toBe(60 * SECOND);
    expect(getWait(DAY)).toBeLessThanOrEqual(60 * 60 * SECOND);
    const ended = check(createOrder(), 'TXN-1', answered('failed'), { ...times, retryAfter: 60 * SECOND });
    expect(ended?.payments[0]?.pace).toEqual({ nextAt: times.now + 60 * SECOND, slow: 1 });
    const late = check(createOrder(), 'TXN-1', answered('failed'), { ...times, retryAfter: DAY });
    expect(late?.payments[0]?.pace).toEqual({ nextAt: times.now + 60 * 60 * SECOND, slow: 1 });
  });

  test('a notification brings a check forward, and makes no pause longer', () => {
    const times = { askedAt: BEGAN_AT, now: BEGAN_AT, random: 0.5 };
    let record = check(createOrder(), 'TXN-1', answered('failed'), times) ?? createOrder();
    for (let count = 1; count <= 50; count++) {
      const now = BEGAN_AT + count * 2 * SECOND;
      record = notify(record, 'TXN-1', now);
      expect(getDueAt(record, now)).toBe(now);
      record = check(record, 'TXN-1', answered('failed'), { askedAt: now, now, random: 0.5 }) ?? record;
      expect(record.payments[0]?.pace).toEqual({ nextAt: now + 30 * SECOND, slow: 1 });
    }
  });

  test('a flood of notifications asks for one check a second', () => {
    const times = { askedAt: BEGAN_AT, now: BEGAN_AT, random: 0.5 };
    let record = check(createOrder(), 'TXN-1', answered('failed'), times) ?? createOrder();
    let checks = 0;
    for (let now = BEGAN_AT + 1; now < BEGAN_AT + 20 * SECOND; now += 10) {
      record = notify(record, 'TXN-1', now);
      if (listDueChecks(record, now).length === 0) continue;
      checks += 1;
      record = check(record, 'TXN-1', answered('failed'), { askedAt: now, now, random: 0.5 }) ?? record;
    }
    expect(checks).toBe(19);
  });

  test('a notification during a check asks for one more, soon after it', () => {
    const askedAt = BEGAN_AT + 8 * SECOND;
    const now = askedAt + 5 * SECOND;
    const notified = notify(createOrder(), 'TXN-1', askedAt + 2 * SECOND);
    const record = check(notified, 'TXN-1', answered('pending'), { askedAt, now, random: 0.5 });
    expect(record && getDueAt(record, now)).toBe(now);
    const again = check(record, 'TXN-1', answered('pending'), { askedAt: now, now, random: 0.5 });
    expect(again && getDueAt(again, now)).toBeGreaterThanOrEqual(now + 3 * SECOND);
  });

  test('a notification is kept until a check has an answer', () => {
    const askedAt = BEGAN_AT + 2 * SECOND;
    const notified = notify(createOrder(), 'TXN-1', BEGAN_AT + SECOND);
    const record = check(notified, 'TXN-1', { is: 'temporary' }, { askedAt, now: askedAt, random: 0.5 });
    expect(record?.payments[0]?.pace).toMatchObject({ notifiedAt: BEGAN_AT + SECOND });
    const answeredAt = record?.payments[0]?.pace?.nextAt ?? 0;
    const times = { askedAt: answeredAt, now: answeredAt, random: 0.5 };
    expect(check(record, 'TXN-1', answered('pending'), times)?.payments[0]?.pace).not.toHaveProperty(
      'notifiedAt',
    );
  });

  test('a notification revives a payment that is given up', () => {
    const { record } = checkWhenDue(createOrder(), answered('failed'));
    const now = BEGAN_AT + 30 * DAY;
    expect(listDueChecks(record, now)).toEqual([]);
    const revived = notify(record, 'txn-1', now);
    expect(listDueChecks(revived, now)).toEqual(['TXN-1']);
    const checked = check(revived, 'TXN-1', answered('failed'), { askedAt: now, now, random: 0.5 });
    expect(checked && listDueChecks(checked, now + 30 * DAY)).toEqual([]);
  });
});

test.each([1.2, 30, 200])('a plan that is %s days ahead is for now, since a clock went back', (days) => {
  const ahead = createOrder({ ...madePayment, pace: { slow: 0, nextAt: BEGAN_AT + days * DAY } });
  expect(getDueAt(ahead, BEGAN_AT)).toBe(BEGAN_AT);
});

describe('the pace of handler calls', () => {
  test('tries again after pauses that double from 30 s to an hour', () => {
    const paid = check(createOrder(), 'TXN-1', answered('success'), {
      askedAt: BEGAN_AT,
      now: BEGAN_AT,
      random: 0.5,
    });
    expect(paid && getDueAt(paid, BEGAN_AT)).toBe(BEGAN_AT);
    const pauses: number[] = [];
    let record = paid;
    for (let failures = 0; failures < 9; failures++) {
      record = tellLater(record, { now: BEGAN_AT, random: 0.5 });
      pauses.push(((record && getDueAt(record, BEGAN_AT)) ?? 0) - BEGAN_AT);
    }
    expect(pauses.map((pause) => pause / SECOND)).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
  });

  test('is for now if a clock went back by days', () => {
    const times = { askedAt: BEGAN_AT, now: BEGAN_AT, random: 0.5 };
    const paid = check(createOrder(), 'TXN-1', answered('success'), times);
    const failed = tellLater(paid, { now: BEGAN_AT + 8 * DAY, random: 0.5 });
    expect(failed && getDueAt(failed, BEGAN_AT)).toBe(BEGAN_AT);
  });
});
