import { describe, expectTypeOf, test } from 'vitest';
import type {
  MobileMoneyCharge,
  PaymentsClient,
  SuccessfulTransaction,
  Transaction,
  TransactionStatus,
  UnrecognisedTransaction,
} from '../../../src/index.ts';

declare const payments: PaymentsClient;
declare const transaction: Transaction;
declare const charged: MobileMoneyCharge;
type Flat<Type> = { [Name in keyof Type]: Type[Name] };
type Known = Exclude<TransactionStatus, 'unrecognised'>;

describe('a transaction', () => {
  test('is discriminated by its status', () => {
    if (transaction.status === 'success') {
      expectTypeOf(transaction).toEqualTypeOf<SuccessfulTransaction>();
      expectTypeOf(transaction.status).toEqualTypeOf<'success'>();
      return;
    }
    expectTypeOf(transaction.status).toEqualTypeOf<Exclude<TransactionStatus, 'success'>>();
  });

  test('can be switched over exhaustively', () => {
    switch (transaction.status) {
      case 'success':
        return expectTypeOf(transaction.paid_at).toEqualTypeOf<string | null>();
      case 'pending':
      case 'processing':
      case 'failed':
      case 'abandoned':
        return expectTypeOf(transaction.reference).toEqualTypeOf<string>();
      case 'unrecognised':
        return expectTypeOf(transaction.raw_status).toEqualTypeOf<string>();
      default:
        return expectTypeOf(transaction).toEqualTypeOf<never>();
    }
  });

  test('does not compile if a switch misses a status', () => {
    switch (transaction.status) {
      case 'success':
      case 'pending':
      case 'processing':
      case 'failed':
      case 'abandoned':
        return;
      default: {
        // @ts-expect-error An unrecognised status is left.
        const nothing: never = transaction;
        return nothing;
      }
    }
  });

  test('has raw_status only if it is unrecognised', () => {
    // @ts-expect-error The others have none.
    transaction.raw_status;
    if (transaction.status === 'unrecognised') {
      expectTypeOf(transaction).toEqualTypeOf<UnrecognisedTransaction>();
      expectTypeOf(transaction.raw_status).toEqualTypeOf<string>();
    }
    if (transaction.status === 'failed') {
      // @ts-expect-error A known status is its own raw value.
      transaction.raw_status;
    }
  });

  test('has exactly the documented fields', () => {
    interface Fields {
      reference: string;
      amount: string;
      currency: string;
      customer_email: string | null;
      paid_at: string | null;
    }
    expectTypeOf<Flat<SuccessfulTransaction>>().toEqualTypeOf<Flat<Fields & { status: 'success' }>>();
    type Unrecognised = Fields & { status: 'unrecognised'; raw_status: string };
    expectTypeOf<Flat<UnrecognisedTransaction>>().toEqualTypeOf<Flat<Unrecognised>>();
    expectTypeOf<Transaction['status']>().toEqualTypeOf<TransactionStatus>();
    // @ts-expect-error The wire has paid_at.
    transaction.paidAt;
    // @ts-expect-error Only the status means paid.
    transaction.paid;
    // @ts-expect-error There is no such status.
    if (transaction.status === 'succeeded') return;
    // @ts-expect-error The boolean is the envelope's, which the caller never gets.
    if (transaction.status === true) return;
  });
});

describe('the other results', () => {
  test('chargeMobileMoney returns the documented fields and replayed', () => {
    expectTypeOf(payments.chargeMobileMoney).returns.toEqualTypeOf<Promise<MobileMoneyCharge>>();
    if (charged.status === 'unrecognised') {
      expectTypeOf(charged.raw_status).toEqualTypeOf<string>();
    } else {
      expectTypeOf(charged).toEqualTypeOf<{
        reference: string;
        status: Known;
        amount: string;
        currency: string;
        message: string;
        replayed: boolean;
      }>();
    }
    // @ts-expect-error A known status is its own raw value.
    charged.raw_status;
    // @ts-expect-error The customer pays on the phone: there is no checkout.
    charged.checkout_url;
  });
});
