import { expect } from 'vitest';
import type { Faults } from '../../../src/testing/index.ts';
import { failureOf } from '../../helpers/service.ts';
import { charge, payment, type startMock } from './start-mock.ts';

export const patience = { timeout: 100 };

type Shop = ReturnType<typeof startMock>;

/** What a verify makes of a fault. */
export async function verifyUnder({ mock, payments }: Shop, fault: Faults['verify']) {
  const { reference } = await payments.initialize(payment);
  mock.fault('verify', fault);
  return failureOf(payments.verify(reference, patience));
}

/** What a charge makes of a fault, and how many charges exist after it. */
export async function chargeUnder({ mock, payments }: Shop, fault: Faults['chargeMobileMoney']) {
  const before = mock.charges.length;
  mock.fault('chargeMobileMoney', fault);
  const error = await failureOf(payments.chargeMobileMoney(charge, patience));
  return { error, charged: mock.charges.length - before };
}

export const unknown = (cause: new (...facts: never[]) => Error) => ({
  outcome: 'unknown',
  cause: expect.any(cause),
});
