import {
  chargeMobileMoneyAnswerSchema,
  initializeAnswerSchema,
  recordedChargeSchema,
  recordedPaymentSchema,
  verifyAnswerSchema,
} from './contract/answer.ts';
import { chargeMobileMoneyInputSchema, initializeInputSchema, verifyInputSchema } from './contract/input.ts';
import type { CreateOperation, Mismatch, Operation } from './contract/operation.ts';
import { sameAmount } from './money.ts';

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
