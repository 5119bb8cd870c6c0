import { expect, test } from 'vitest';
import { createMockPayments } from '../../../src/testing/index.ts';
import { catchError } from '../../helpers/service.ts';
import { charge, startMock } from './start-mock.ts';

/** Orders a fault without types, as a test in JavaScript does. */
function orderFault(operation: string, fault: object): void {
  Reflect.apply(createMockPayments().fault, undefined, [operation, fault]);
}

test.each([
  ['verify', { kind: 'unrecognizedStatus' }, 'Unknown fault unrecognizedStatus for verify. Known: status,'],
  ['verify', {}, 'Unknown fault for verify. Known: status,'],
  ['verify', { kind: 'lateApproval', after: 5 }, 'Unknown fault lateApproval for verify'],
  ['initialize', { kind: 'unrecognisedStatus' }, 'Unknown fault unrecognisedStatus for initialize'],
  ['charge', { kind: 'reset' }, 'Unknown operation charge. Known: initialize, chargeMobileMoney,'],
  ['toString', { kind: 'reset' }, 'Unknown operation toString'],
  ['verify', { kind: 'status', status: 500, body: 'xml' }, 'body must be'],
  ['verify', { kind: 'status', status: 500, body: { amount: 1n } }, 'BigInt'],
  ['verify', { kind: 'status', status: 500, headers: { 'two words': 'x' } }, 'two words'],
  ['verify', { kind: 'status', status: 500, headers: { 'x-note': 'Accra\nKumasi' } }, 'Accra'],
  ['verify', { kind: 'wrongAmount' }, 'amount must be a string, not undefined'],
  ['verify', { kind: 'wrongCurrency', currency: 5 }, 'currency must be a string, not number.'],
  ['verify', { kind: 'wrongReference' }, 'reference must be a string'],
  ['verify', { kind: 'unrecognisedStatus', status: 7 }, 'status must be a string'],
])('%s with %o throws when it is ordered', (operation, fault, message) => {
  expect(() => orderFault(operation, fault)).toThrow(TypeError);
  expect(() => orderFault(operation, fault)).toThrow(message);
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15, '5'])('throws for %o milliseconds', (value) => {
  for (const fault of [
    { kind: 'rateLimited', retryAfter: value },
    { kind: 'slowBody', interval: value },
    { kind: 'lateApproval', after: value },
  ]) {
    expect(() => orderFault('chargeMobileMoney', fault)).toThrow(RangeError);
  }
});

test.each([99, 199, 600, 500.5, Number.NaN, '500', undefined])('throws for the status %o', (status) => {
  expect(() => orderFault('verify', { kind: 'status', status })).toThrow(RangeError);
});

test('throws for an interval that no timer can hold', () => {
  expect(() => orderFault('verify', { kind: 'slowBody', interval: 2 ** 31 })).toThrow(RangeError);
});

test('are not changed by a later change of their object', async () => {
  const { mock, payments } = startMock();
  const fault = { kind: 'status' as const, status: 422 };
  mock.fault('chargeMobileMoney', fault);
  fault.status = 503;
  expect(await catchError(payments.chargeMobileMoney(charge))).toMatchObject({ status: 422 });
});

test('names a field that does not exist', () => {
  const order = () => orderFault('verify', { kind: 'hang', acepted: true });
  expect(order).toThrow('The fault has an unknown field "acepted". Did you mean accepted?');
});
