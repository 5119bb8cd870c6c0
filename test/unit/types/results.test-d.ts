import { describe, expectTypeOf, test } from 'vitest';
import type * as z from 'zod/mini';
import type {
  InitializedPayment,
  initializedPaymentSchema,
  MobileMoneyCharge,
  PaymentsClient,
  SuccessfulTransaction,
  Transaction,
  TransactionStatus,
  transactionSchema,
  UnrecognisedTransaction,
} from '../../../src/index.ts';

declare const payments: PaymentsClient;
declare const transaction: Transaction;
declare const charged: MobileMoneyCharge;
type Flat<Type> = { [Name in keyof Type]: Type[Name] };
type Known = Exclude<TransactionStatus, 'unrecognised'>;

describe('a transaction', () => {
  test('is told apart by its status', () => {
    if (transaction.status === 'success') {
      expectTypeOf(transaction).toEqualTypeOf<SuccessfulTransaction>();
      expectTypeOf(transaction.status).toEqualTypeOf<'success'>();
      return;
    }
    expectTypeOf(transaction.status).toEqualTypeOf<Exclude<TransactionStatus, 'success'>>();
  });

  test('can be switched over with nothing left', () => {
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

  test('that forgets a status in a switch does not compile', () => {
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

  test('has its raw status only where that is not recognised', () => {
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

  test('has exactly the fields of SPEC.md, 4.3: a typo does not compile', () => {
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
    // @ts-expect-error The wire says paid_at.
    transaction.paidAt;
    // @ts-expect-error Nothing says paid but the status.
    transaction.paid;
    // @ts-expect-error There is no such status.
    if (transaction.status === 'succeeded') return;
    // @ts-expect-error A boolean is the envelope's, which nobody sees.
    if (transaction.status === true) return;
  });

  test('is what the exported schema gives', () => {
    expectTypeOf<z.output<typeof transactionSchema>>().toExtend<Transaction>();
    expectTypeOf<Transaction>().toExtend<z.output<typeof transactionSchema>>();
  });
});

describe('the other results', () => {
  test('initialize gives the fields of SPEC.md, 4.1, and whether it is a replay', () => {
    expectTypeOf(payments.initialize).returns.toEqualTypeOf<Promise<InitializedPayment>>();
    expectTypeOf<InitializedPayment>().toEqualTypeOf<{
      reference: string;
      checkout_url: string;
      amount: string;
      currency: string;
      replayed: boolean;
    }>();
    expectTypeOf<InitializedPayment>().toExtend<z.output<typeof initializedPaymentSchema>>();
  });

  test('chargeMobileMoney gives those of 4.2, the message, and whether it is a replay', () => {
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

  test('verify and the waits give a transaction', () => {
    expectTypeOf(payments.verify).returns.resolves.toEqualTypeOf<Transaction>();
    expectTypeOf(payments.waitForFinalStatus).returns.resolves.toEqualTypeOf<Transaction>();
    expectTypeOf(payments.check).returns.resolves.toHaveProperty('transaction').toEqualTypeOf<Transaction>();
    expectTypeOf(payments.mode).toEqualTypeOf<'test' | 'unknown'>();
  });
});
