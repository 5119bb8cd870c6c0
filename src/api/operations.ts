/**
 * The API in one place: for each operation its method, path, input schema and output schema. Client, mock and journal are
 * all made from it.
 */

import type * as z from 'zod/mini';
import { chargeMobileMoneyInputSchema, initializeInputSchema, verifyInputSchema } from './input.ts';
import { isSameAmount } from './money.ts';
import {
  chargeMobileMoneyOutputSchema,
  type InitializedPayment,
  initializeOutputSchema,
  storedChargeSchema,
  storedPaymentSchema,
  verifyOutputSchema,
} from './transaction.ts';

/** The operations of the service, by the name of the method that calls them. */
export type OperationName = 'initialize' | 'chargeMobileMoney' | 'verify';

export interface Operation<Input, Request extends object, Result> {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  /** The path below the base URL. `:reference` stands for the reference of the request. */
  readonly path: string;
  /** Checks what the caller gives and turns it into what is sent. */
  readonly input: z.ZodMiniType<Request, Input> & { readonly shape: object };
  /** Turns the body of a 2xx response into the result. */
  readonly output: z.ZodMiniType<Result>;
  readonly findMismatches: (result: Result, request: Request) => Mismatch[];
}

export interface CreateOperation<Input, Request extends object, Result>
  extends Operation<Input, Request, Result> {
  /** Turns a stored result into that of a replay. */
  readonly storedOutput: z.ZodMiniType<Result>;
}

/** A field of a result that is not what was requested. */
export interface Mismatch {
  /** Of `checkout_url` it is the last part of the path, which names the transaction. */
  field: 'reference' | 'amount' | 'currency' | 'checkout_url';
  expected: string;
  actual: string;
}

/** The currency that the service uses if the input has none. */
export const DEFAULT_CURRENCY = 'GHS';

/** docs/reference/service.md, "Start a checkout payment". */
export const initialize = defineCreateOperation({
  name: 'initialize',
  method: 'POST',
  path: 'transactions/initialize',
  input: initializeInputSchema,
  output: initializeOutputSchema,
  storedOutput: storedPaymentSchema,
  findMismatches: (payment, { amount, currency = DEFAULT_CURRENCY }) => [
    ...findMoneyMismatches(payment, { amount, currency }),
    ...findPageMismatches(payment),
  ],
});

/** docs/reference/service.md, "Charge a Mobile Money number". */
export const chargeMobileMoney = defineCreateOperation({
  name: 'chargeMobileMoney',
  method: 'POST',
  path: 'transactions/charge-mobile-money',
  input: chargeMobileMoneyInputSchema,
  output: chargeMobileMoneyOutputSchema,
  storedOutput: storedChargeSchema,
  findMismatches: (charge, { amount, currency = DEFAULT_CURRENCY }) =>
    findMoneyMismatches(charge, { amount, currency }),
});

/** docs/reference/service.md, "Read the status". */
export const verify = defineOperation({
  name: 'verify',
  method: 'GET',
  path: 'transactions/verify/:reference',
  input: verifyInputSchema,
  output: verifyOutputSchema,
  findMismatches: (transaction, { reference, expect }) => {
    if (transaction.reference !== reference)
      return [{ field: 'reference', expected: reference, actual: transaction.reference }];
    return expect === undefined ? [] : findMoneyMismatches(transaction, expect);
  },
});

/** Infers the types of an operation from its schemas. */
function defineOperation<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
) {
  return operation;
}

function defineCreateOperation<Input, Request extends object, Result>(
  operation: CreateOperation<Input, Request, Result>,
) {
  return operation;
}

/** A customer who is sent to the page of another transaction would pay for that one. */
function findPageMismatches({
  reference,
  checkout_url,
}: Pick<InitializedPayment, 'reference' | 'checkout_url'>): Mismatch[] {
  const [, path = ''] = /^https?:\/\/[^/?#\\]+([^?#]*)/i.exec(checkout_url) ?? [];
  const actual = path.split('/').findLast((part) => part !== '') ?? '';
  return actual === reference ? [] : [{ field: 'checkout_url', expected: reference, actual }];
}

function findMoneyMismatches(
  actual: { amount: string; currency: string },
  expected: { amount: number; currency?: string | undefined },
): Mismatch[] {
  const mismatches: Mismatch[] = [];
  if (!isSameAmount(actual.amount, expected.amount)) {
    mismatches.push({ field: 'amount', expected: expected.amount.toFixed(2), actual: actual.amount });
  }
  if (expected.currency !== undefined && actual.currency.toUpperCase() !== expected.currency) {
    mismatches.push({ field: 'currency', expected: expected.currency, actual: actual.currency });
  }
  return mismatches;
}
