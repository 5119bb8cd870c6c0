import type * as z from 'zod/mini';
import { chargeMobileMoneyInputSchema, initializeInputSchema, verifyInputSchema } from './input.ts';
import { sameAmount } from './money.ts';
import {
  chargeMobileMoneyAnswerSchema,
  initializeAnswerSchema,
  recordedChargeSchema,
  recordedPaymentSchema,
  verifyAnswerSchema,
} from './transaction.ts';

/** The operations of the service, by the name of the method that calls them. */
export type OperationName = 'initialize' | 'chargeMobileMoney' | 'verify';

/** A field of an answer that is not what was asked for. */
export interface Mismatch {
  field: 'reference' | 'amount' | 'currency';
  expected: string;
  actual: string;
}

/** One operation of the service, whole: the client, the mock and the docs are all made from it. */
export interface Operation<Input, Request extends object, Result> {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  /** Below the base URL; `:reference` stands for the request's own. */
  readonly path: string;
  /** Checks what the caller gives and makes of it what is sent. */
  readonly input: z.ZodMiniType<Request, Input> & { readonly shape: object };
  /** Reads the body of a 2xx answer. */
  readonly answer: z.ZodMiniType<Result>;
  /** Holds a readable answer against the request. */
  readonly mismatches: (result: Result, request: Request) => Mismatch[];
}

/** An operation that creates a transaction: a journal can record its result. */
export interface CreateOperation<Input, Request extends object, Result>
  extends Operation<Input, Request, Result> {
  /** Reads a recorded result as a replay. */
  readonly recorded: z.ZodMiniType<Result>;
}

/** SPEC.md, 4.1 and 4.2: what the service takes where no currency is given. */
export const DEFAULT_CURRENCY = 'GHS';

interface Money {
  amount: number | string;
  currency: string;
}

function moneyMismatches(actual: Money, expected: { amount: number; currency?: string | undefined }) {
  const found: Mismatch[] = [];
  if (!sameAmount(actual.amount, expected.amount)) {
    found.push({ field: 'amount', expected: expected.amount.toFixed(2), actual: String(actual.amount) });
  }
  if (expected.currency !== undefined && actual.currency.toUpperCase() !== expected.currency) {
    found.push({ field: 'currency', expected: expected.currency, actual: actual.currency });
  }
  return found;
}

function defineOperation<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
) {
  return operation;
}

function describeCreate<Input, Request extends object, Result>(
  operation: CreateOperation<Input, Request, Result>,
) {
  return operation;
}

/** SPEC.md, 4.1. */
export const initialize = describeCreate({
  name: 'initialize',
  method: 'POST',
  path: 'transactions/initialize',
  input: initializeInputSchema,
  answer: initializeAnswerSchema,
  recorded: recordedPaymentSchema,
  mismatches: (payment, { amount, currency = DEFAULT_CURRENCY }) =>
    moneyMismatches(payment, { amount, currency }),
});

/** SPEC.md, 4.2. */
export const chargeMobileMoney = describeCreate({
  name: 'chargeMobileMoney',
  method: 'POST',
  path: 'transactions/charge-mobile-money',
  input: chargeMobileMoneyInputSchema,
  answer: chargeMobileMoneyAnswerSchema,
  recorded: recordedChargeSchema,
  mismatches: (charge, { amount, currency = DEFAULT_CURRENCY }) =>
    moneyMismatches(charge, { amount, currency }),
});

/** SPEC.md, 4.3. */
export const verify = defineOperation({
  name: 'verify',
  method: 'GET',
  path: 'transactions/verify/:reference',
  input: verifyInputSchema,
  answer: verifyAnswerSchema,
  mismatches: (transaction, { reference, expect }) => {
    if (transaction.reference !== reference)
      return [{ field: 'reference', expected: reference, actual: transaction.reference }];
    return expect === undefined ? [] : moneyMismatches(transaction, expect);
  },
});
