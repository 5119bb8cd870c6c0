import { setupServer } from 'msw/node';
import { expectTypeOf, test } from 'vitest';
import {
  createMockPayments,
  type FinalStatus,
  type MockPayments,
} from '../../../../src/developers/mock/index.ts';
import type { Transaction } from '../../../../src/index.ts';

declare const mock: MockPayments;

test('the handlers fit setupServer', () => {
  expectTypeOf(createMockPayments).returns.toEqualTypeOf<MockPayments>();
  setupServer(...mock.handlers);
});

test('a mock can be used with using', () => {
  expectTypeOf<MockPayments>().toExtend<Disposable>();
});

test('transactions have the type of those of the client', () => {
  expectTypeOf(mock.transactions).toEqualTypeOf<Transaction[]>();
  expectTypeOf(mock.approve).returns.toEqualTypeOf<Transaction>();
});

test('unknown statuses, faults and operations are type errors', () => {
  expectTypeOf<FinalStatus>().toEqualTypeOf<'success' | 'failed' | 'abandoned'>();
  // @ts-expect-error: a transaction does not end as pending
  mock.settleAfter('next', 1, 'pending');
  // @ts-expect-error: no such status
  mock.script('next', ['paid']);
  // @ts-expect-error: a verify creates nothing to approve
  mock.fault('verify', { kind: 'lateApproval', after: 5 });
  // @ts-expect-error: the response to initialize has no status
  mock.fault('initialize', { kind: 'unrecognisedStatus' });
  // @ts-expect-error: no such operation
  mock.fault('refund', { kind: 'reset' });
});
