import { expect, onTestFinished, test, vi } from 'vitest';
import { createMockPayments } from '../../../src/testing/index.ts';
import { failureOf } from '../../helpers/service.ts';
import { charge, startMock } from './start-mock.ts';

/** A test in JavaScript: what it writes has no types. */
function order(operation: string, fault: object): void {
  Reflect.apply(createMockPayments().fault, undefined, [operation, fault]);
}

test.each([
  ['verify', { kind: 'unrecognizedStatus' }, 'verify has no fault unrecognizedStatus: it is one of status,'],
  ['verify', {}, 'verify has no fault undefined'],
  ['verify', { kind: 'lateApproval', after: 5 }, 'verify has no fault lateApproval'],
  ['initialize', { kind: 'unrecognisedStatus' }, 'initialize has no fault unrecognisedStatus'],
  ['charge', { kind: 'reset' }, 'There is no operation charge: it is one of initialize, chargeMobileMoney,'],
  ['toString', { kind: 'reset' }, 'There is no operation toString'],
  ['verify', { kind: 'status', status: 500, body: 'xml' }, 'body must be'],
  ['verify', { kind: 'status', status: 500, body: { amount: 1n } }, 'BigInt'],
  ['verify', { kind: 'status', status: 500, headers: { 'two words': 'x' } }, 'two words'],
  ['verify', { kind: 'status', status: 500, headers: { 'x-note': 'Accra\nKumasi' } }, 'Accra'],
  ['verify', { kind: 'wrongAmount' }, 'amount must be text, not undefined'],
  ['verify', { kind: 'wrongCurrency', currency: 5 }, 'currency must be text, not 5'],
  ['verify', { kind: 'wrongReference' }, 'reference must be text'],
  ['verify', { kind: 'unrecognisedStatus', status: 7 }, 'status must be text'],
])('%s with %o is refused where it is written', (operation, fault, message) => {
  expect(() => order(operation, fault)).toThrow(TypeError);
  expect(() => order(operation, fault)).toThrow(message);
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15, '5'])(
  '%o milliseconds are refused',
  (value) => {
    for (const fault of [
      { kind: 'rateLimited', retryAfter: value },
      { kind: 'slowBody', interval: value },
      { kind: 'lateApproval', after: value },
    ]) {
      expect(() => order('chargeMobileMoney', fault)).toThrow(RangeError);
    }
  },
);

test.each([500.5, '500', undefined])('a status of %o is refused', (status) => {
  expect(() => order('verify', { kind: 'status', status })).toThrow(RangeError);
});

test('an interval that no timer holds is refused', () => {
  expect(() => order('verify', { kind: 'slowBody', interval: 2 ** 31 })).toThrow(RangeError);
});

test('a fault that is altered after it was given sends no request to the real address', async () => {
  // MSW prints what a handler throws.
  const printed = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => printed.mockRestore());
  const { mock, payments } = startMock();
  const fault = { kind: 'reset' } as const;
  mock.fault('chargeMobileMoney', fault);
  Object.assign(fault, { kind: 'resetted' });
  expect(await failureOf(payments.chargeMobileMoney(charge))).toMatchObject({
    outcome: 'unknown',
    cause: { status: 500 },
  });
});
