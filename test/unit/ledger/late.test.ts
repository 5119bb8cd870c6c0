import { describe, expect, test } from 'vitest';
import { isClaimVoid, listAttention } from '../../../src/ledger/order.ts';
import {
  type AttemptOutcome,
  complete,
  type MadeCharge,
  notify,
  recordClaim,
} from '../../../src/ledger/outcome.ts';
import { type Ask, press } from '../../../src/ledger/press.ts';
import type { LedgerRecord, Payment } from '../../../src/ledger/record.ts';
import { getSight, nameReference, resolve } from '../../../src/ledger/resolve.ts';
import { BEGAN_AT, createOrder, madePayment } from './records.ts';

const NOW = BEGAN_AT + 60_000;
const OWNER = { kind: 'order', service: 'digest' } as const;

const { operation, amount, currency, network, phone, fingerprint, schedule, finalStatuses } = madePayment;
const ask: Ask = {
  ...{ operation, amount, currency, network, phone, fingerprint, schedule, finalStatuses },
  attempt: 'attempt-1',
};

const unknown = createOrder({ ...madePayment, charge: { is: 'unknown', why: 'no_result' } });
const claimed: MadeCharge = { is: 'made', result: { reference: 'TXN-1' }, isClaimed: true };
const made: AttemptOutcome = claimed;

const look = (record: LedgerRecord, id = 'resolution-1') => ({
  id,
  by: 'kofi@shop.example',
  reason: 'looked',
  sight: getSight(record, 1, NOW),
  now: NOW,
});

/** Writes the late response to the record. */
function learn(record: LedgerRecord): LedgerRecord {
  const { record: learned } = complete(record, OWNER, ask, made, NOW);
  return learned ?? record;
}

describe('a response that comes after its attempt was recorded as unknown', () => {
  test('stays named, whatever a person decides before it is confirmed', () => {
    const learned = learn(unknown);
    expect(resolve(learned, 1, 'not_charged', look(learned), true)).toEqual({ is: 'unfit' });
    const closed = resolve(learned, 1, 'closed', look(learned));
    expect(closed).toMatchObject({ record: { payments: [{ charge: { is: 'closed', named: 'TXN-1' } }] } });
    expect(isClaimVoid(learned, 'TXN-1')).toBe(false);
  });

  test('stands beside the reference that a person is about to give', () => {
    const named = nameReference(unknown, 1, 'TXN-9', look(unknown));
    if (named.is !== 'done') throw new Error(named.is);
    const learned = learn(named.record);
    expect(learned.payments).toMatchObject([
      { charge: { is: 'unknown', reference: 'TXN-1' }, claiming: { reference: 'TXN-9' } },
    ]);
    const result = { is: 'made', result: { reference: 'TXN-9' }, isClaimed: true } as const;
    expect(recordClaim(learned, 'resolution-1', result, NOW)?.payments).toMatchObject([
      { charge: { is: 'made', result: { reference: 'TXN-9' } } },
      { charge: { is: 'unknown', reference: 'TXN-1' } },
    ]);
  });

  test('pays nothing if a person closes its attempt before it is confirmed', () => {
    const other = { is: 'unknown', why: 'no_result', reference: 'TXN-5' } as const;
    const learned = learn(createOrder({ ...madePayment, charge: other }));
    const closed = resolve(learned, 1, 'closed', look(learned));
    if (closed.is !== 'done') throw new Error(closed.is);
    const result = { is: 'made', result: { reference: 'TXN-1' }, isClaimed: true } as const;
    expect(recordClaim(closed.record, 'attempt-1', result, NOW)?.payments).toMatchObject([
      { charge: { is: 'closed', named: 'TXN-5' } },
      { charge: { is: 'unknown', reference: 'TXN-1' } },
    ]);
  });

  test('is shared if another order has its transaction', () => {
    const result = { is: 'made', result: { reference: 'TXN-1' }, isClaimed: false } as const;
    const refused = recordClaim(learn(unknown), 'attempt-1', result, NOW);
    expect(refused && listAttention(refused, NOW)).toMatchObject([{ reason: 'shared_reference' }]);
  });
});

test('a webhook while a charge is sent is kept until its outcome is recorded', () => {
  const sending = createOrder({ ...madePayment, charge: { is: 'sending', until: NOW + 1 } });
  const named = notify(sending, 'TXN-7', NOW);
  expect(isClaimVoid(named, 'TXN-7')).toBe(false);
  // Its process died: a person sees what was named.
  expect(named.payments[0]?.charge).toMatchObject({ is: 'sending', named: 'TXN-7' });
  const { record } = complete(named, OWNER, ask, { is: 'none', why: 'rejected' }, NOW);
  expect(record?.payments).toMatchObject([
    { charge: { is: 'none' } },
    { charge: { is: 'unknown', reference: 'TXN-7' } },
  ]);
  const same: AttemptOutcome = { is: 'made', result: { reference: 'TXN-7' }, isClaimed: true };
  expect(complete(named, OWNER, ask, same, NOW).record?.payments).toMatchObject([{ charge: { is: 'made' } }]);
});

test('checks a payment before the next one if its times lie in the future', () => {
  const seen = { reference: 'TXN-1', status: 'failed', askedAt: NOW, endedAt: NOW };
  const failed = createOrder({ ...madePayment, seen });
  const before = NOW - 3_600_000;
  const pressing = { ask: { ...ask, attempt: 'attempt-2' }, lease: 10_000, startAnother: false };
  const { decision } = press(failed, OWNER, { ...pressing, since: before, now: before });
  expect(decision).toEqual({ do: 'check', references: ['TXN-1'] });
});

describe('a payment that a webhook gave the transaction of another one', () => {
  const second = { ...ask, attempt: 'attempt-2' };
  const sending = { is: 'sending', until: NOW + 10_000 } as const;
  const guessed = (charge: Payment['charge']): LedgerRecord => {
    const own = { ...madePayment, attempt: 'attempt-2', charge: sending };
    return { ...createOrder({ ...madePayment, charge }), payments: [{ ...madePayment, charge }, own] };
  };
  const record = (before: LedgerRecord) =>
    complete(before, OWNER, second, made, NOW).record?.payments.map(({ charge }) => charge);

  test('waits for its own again, once that one has recorded it', () => {
    const before = notify(guessed({ is: 'unknown', why: 'no_result' }), 'TXN-1', NOW);
    expect(before.payments[0]).toMatchObject({
      charge: { is: 'unknown', why: 'notified', reference: 'TXN-1' },
    });
    expect(record(before)).toEqual([
      { is: 'unknown', why: 'no_result' },
      { is: 'made', result: { reference: 'TXN-1' } },
    ]);
    const found = complete(before, OWNER, second, made, NOW).record;
    const next = found && notify(found, 'TXN-2', NOW).payments;
    expect(next).toMatchObject([
      { charge: { is: 'unknown', reference: 'TXN-2' } },
      { charge: { is: 'made' } },
    ]);
  });

  test('keeps no name while it is sent', () => {
    expect(record(guessed({ ...sending, named: 'TXN-1' }))?.[0]).toEqual(sending);
  });

  test('is nothing, if the webhook alone made it', () => {
    const charge = { is: 'unknown', why: 'notified', reference: 'TXN-1' } as const;
    const before = guessed(charge);
    const [first, own] = before.payments;
    if (!first || !own) throw new Error('no payments');
    const added = { ...before, payments: [{ ...first, attempts: 0 }, own] };
    expect(record(added)?.[0]).toEqual({ is: 'none', why: 'recorded_elsewhere' });
  });

  test('keeps what its own response named', () => {
    const charge = { is: 'unknown', why: 'late', reference: 'TXN-1' } as const;
    expect(record(guessed(charge))?.[0]).toEqual(charge);
  });
});

test('waits for a person if its record was deleted before the response', () => {
  const { record, claims } = complete(null, OWNER, ask, made, NOW);
  if (!record) throw new Error('Nothing was recorded.');
  expect(claims).toBe('TXN-1');
  expect(listAttention(recordClaim(record, 'attempt-1', claimed, NOW) ?? record, NOW)).toMatchObject([
    { reason: 'unresolved' },
  ]);
});
