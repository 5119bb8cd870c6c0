import { setupServer } from 'msw/node';
import { expectTypeOf, test } from 'vitest';
import type { Transaction } from '../../../src/index.ts';
import { createMockPayments, type FinalStatus, type MockPayments } from '../../../src/testing/index.ts';

declare const mock: MockPayments;

test('the handlers fit setupServer', () => {
  expectTypeOf(createMockPayments).returns.toEqualTypeOf<MockPayments>();
  setupServer(...mock.handlers);
});

test('transactions are those that the client returns', () => {
  expectTypeOf(mock.transactions).toEqualTypeOf<Transaction[]>();
  expectTypeOf(mock.approve).returns.toEqualTypeOf<Transaction>();
});

test('statuses and faults are those that exist', () => {
  expectTypeOf<FinalStatus>().toEqualTypeOf<'success' | 'failed' | 'abandoned'>();
  // @ts-expect-error: a transaction does not settle as pending
  mock.settleAfter('next', 1, 'pending');
  // @ts-expect-error: no such status
  mock.script('next', ['paid']);
  // @ts-expect-error: a verify approves nothing
  mock.fault('verify', { kind: 'lateApproval', after: 5 });
  // @ts-expect-error: the answer to initialize has no status
  mock.fault('initialize', { kind: 'unrecognisedStatus' });
  // @ts-expect-error: no such operation
  mock.fault('refund', { kind: 'reset' });
});
