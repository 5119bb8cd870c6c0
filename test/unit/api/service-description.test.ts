import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { chargeMobileMoney, initialize, type OperationName, verify } from '../../../src/api/operations.ts';
import { isRecord } from '../../../src/support/untrusted.ts';
import { assumed, documented, marked, type ServiceDescription } from '../../helpers/openapi/description.ts';
import {
  type Change,
  judgeRequest,
  judgeResponse,
  type ResponseChange,
  sent,
} from '../../helpers/openapi/judge.ts';
import { charge, successBodies } from '../../helpers/service.ts';

const operations = { initialize, chargeMobileMoney, verify };
const names = ['initialize', 'chargeMobileMoney', 'verify'] as const;

const descriptions: [string, ServiceDescription][] = [
  ['what is documented', documented],
  ['what is assumed', assumed],
];

const check = async (document: unknown) => {
  if (!isRecord(document)) throw new TypeError('The document must be an object.');
  return new Validator().validate(structuredClone(document));
};

test('ships a description that is valid OpenAPI 3.1', async () => {
  expect(await check(marked)).toEqual({ valid: true });
});

describe.each(descriptions)('the description of %s', (_, description) => {
  test('is valid OpenAPI 3.1', async () => {
    expect(await check(description.document)).toEqual({ valid: true });
    expect(description.document).toMatchObject({ openapi: '3.1.1' });
  });

  test.each(names)('accepts a request and a response of %s', (name) => {
    expect(judgeRequest(description, name, {})).toEqual([]);
    expect(judgeResponse(description, name, {})).toEqual([]);
  });

  describe('refuses a request', () => {
    const body = (change: object) => JSON.stringify({ ...sent, ...change });
    const cases: [string, OperationName, Change][] = [
      ...Object.keys(charge).map((field): [string, OperationName, Change] => [
        `without ${field}`,
        'chargeMobileMoney',
        { body: body({ [field]: undefined }) },
      ]),
      ['without customer_email', 'initialize', { body: JSON.stringify({ amount: 1 }) }],
      ['with an amount as text', 'initialize', { body: body({ amount: '25.50' }) }],
      ['with an amount below 1', 'initialize', { body: body({ amount: 0.99 }) }],
      ['with an amount of null', 'chargeMobileMoney', { body: body({ amount: null }) }],
      ['with an email without @', 'initialize', { body: body({ customer_email: 'ama' }) }],
      ['with an email of two addresses', 'initialize', { body: body({ customer_email: 'a@b.c d@e.f' }) }],
      ['with a phone as a number', 'chargeMobileMoney', { body: body({ phone: 244123456 }) }],
      ['with another network', 'chargeMobileMoney', { body: body({ network: 'vodafone' }) }],
      ['with a network in upper case', 'chargeMobileMoney', { body: body({ network: 'MTN' }) }],
      ['with a currency of two letters', 'initialize', { body: body({ currency: 'GH' }) }],
      ['with a currency of four letters', 'chargeMobileMoney', { body: body({ currency: 'GHSX' }) }],
      ['with a currency of null', 'initialize', { body: body({ currency: null }) }],
      ['without a body', 'initialize', { body: '' }],
      ['with a body that is not JSON', 'initialize', { body: 'amount=1' }],
      ['with a list as its body', 'initialize', { body: '[]' }],
      ['without a content type', 'initialize', { headers: { 'content-type': null } }],
      ['with another content type', 'chargeMobileMoney', { headers: { 'content-type': 'text/plain' } }],
      ['without a key', 'verify', { headers: { authorization: null } }],
      ['with an empty key', 'initialize', { headers: { authorization: 'Bearer ' } }],
      ['with a key of another scheme', 'verify', { headers: { authorization: 'Basic c2s6' } }],
      ['with another method', 'initialize', { method: 'PUT' }],
      ['with GET where a POST belongs', 'initialize', { method: 'GET', body: '' }],
      ['with POST where a GET belongs', 'verify', { method: 'POST' }],
      ['at another path', 'initialize', { path: '/transactions/initialise' }],
      ['below another path', 'initialize', { path: '/v2/transactions/initialize' }],
      ['with a query', 'verify', { path: '/transactions/verify/TXN-1?expand=1' }],
      ['with a body where none belongs', 'verify', { body: '{}' }],
      ['with a reference without its prefix', 'verify', { path: '/transactions/verify/8f2c61d0' }],
      ['with a prefix alone', 'verify', { path: '/transactions/verify/TXN-' }],
      ['with a path that is not encoded', 'verify', { path: '/transactions/verify/TXN-{1}' }],
      ['without a reference', 'verify', { path: '/transactions/verify/' }],
    ];

    test.each(cases)('%s: %s', (_what, name, change) => {
      expect(judgeRequest(description, name, change)).not.toEqual([]);
    });
  });

  describe('refuses a response', () => {
    const without = (name: OperationName): [string, OperationName, ResponseChange][] =>
      Object.keys(successBodies[name]().data).map((field) => [
        `without ${field}`,
        name,
        { data: { [field]: undefined } },
      ]);
    const cases: [string, OperationName, ResponseChange][] = [
      ...without('initialize'),
      ...without('chargeMobileMoney'),
      ...without('verify'),
      ['with an envelope that says false', 'verify', { envelope: { status: false } }],
      ['with an envelope that says it as text', 'initialize', { envelope: { status: 'true' } }],
      ['without data', 'verify', { envelope: { data: undefined } }],
      ['without a message', 'chargeMobileMoney', { envelope: { message: undefined } }],
      ['with an amount as a number', 'initialize', { data: { amount: 25.5 } }],
      ['with an amount of one decimal', 'verify', { data: { amount: '25.5' } }],
      ['with an amount of no decimals', 'chargeMobileMoney', { data: { amount: '25' } }],
      ['with a currency of two letters', 'initialize', { data: { currency: 'GH' } }],
      ['with an empty currency', 'verify', { data: { currency: '' } }],
      ['with an empty reference', 'initialize', { data: { reference: '' } }],
      ['with a reference without its prefix', 'chargeMobileMoney', { data: { reference: '8f2c61d0' } }],
      ['with a charge that is final', 'chargeMobileMoney', { data: { status: 'success' } }],
      ['with a charge that is pending', 'chargeMobileMoney', { data: { status: 'pending' } }],
      ['with a status that is not documented', 'verify', { data: { status: 'reversed' } }],
      ['with no time of a paid one', 'verify', { data: { paid_at: null } }],
      ['with an empty time of a paid one', 'verify', { data: { paid_at: '' } }],
      ['with a time without an offset', 'verify', { data: { paid_at: '2026-11-21T10:15:00' } }],
      ['with a time that is a number', 'verify', { data: { paid_at: 1763720100 } }],
      ['with an address that is none', 'initialize', { data: { checkout_url: 'checkout' } }],
      [
        'with an address of another form',
        'initialize',
        { data: { checkout_url: 'https://pay.example/TXN-1' } },
      ],
      ['of another content type', 'verify', { type: 'text/html' }],
      ['without a content type', 'verify', { type: null }],
      ['without a body', 'initialize', { body: '' }],
      ['whose JSON ends in the middle', 'initialize', { body: '{"status":true,"data":{"refer' }],
      ['of another success status', 'initialize', { status: 201 }],
      ['of a redirect', 'chargeMobileMoney', { status: 302 }],
      ['of a gateway', 'verify', { status: 502 }],
    ];

    test.each(cases)('%s: %s', (_what, name, change) => {
      expect(judgeResponse(description, name, change)).not.toEqual([]);
    });
  });
});

describe('what only the package assumes', () => {
  const requests: [string, OperationName, Change][] = [
    ['a currency in lower case', 'initialize', { body: JSON.stringify({ ...sent, currency: 'ghs' }) }],
    ['an amount above the limit', 'initialize', { body: JSON.stringify({ ...sent, amount: 1e15 }) }],
    ['a phone without a digit', 'chargeMobileMoney', { body: JSON.stringify({ ...sent, phone: 'mtn' }) }],
    ['a request without an id', 'verify', { headers: { 'x-request-id': null } }],
    ['a reference with a slash in it', 'verify', { path: '/transactions/verify/TXN-1%2F2' }],
  ];

  test.each(requests)('refuses %s, which is not documented', (_what, name, change) => {
    expect(judgeRequest(documented, name, change)).toEqual([]);
    expect(judgeRequest(assumed, name, change)).not.toEqual([]);
  });

  const responses: [string, OperationName, ResponseChange][] = [
    ['another field of a transaction', 'verify', { data: { fee: '0.10' } }],
    ['another field of the envelope', 'initialize', { envelope: { meta: {} } }],
    ['a message of a verify', 'verify', { envelope: { message: 'Found.' } }],
    ['a time of an unpaid transaction', 'verify', { data: { status: 'failed' } }],
    ['no time of an unpaid transaction', 'verify', { data: { status: 'pending', paid_at: undefined } }],
    ['a currency in lower case', 'chargeMobileMoney', { data: { currency: 'ghs' } }],
  ];

  test.each(responses)('refuses %s, which is not documented', (_what, name, change) => {
    expect(judgeResponse(documented, name, change)).toEqual([]);
    expect(judgeResponse(assumed, name, change)).not.toEqual([]);
  });

  test('accepts the status processing of a verify', () => {
    const change = { data: { status: 'processing', paid_at: null } };
    expect(judgeResponse(documented, 'verify', change)).not.toEqual([]);
    expect(judgeResponse(assumed, 'verify', change)).toEqual([]);
  });

  test.each(names)('describes errors of %s', (name) => {
    const responsesOf = (description: ServiceDescription) => {
      const { path, method } = operations[name];
      const template = `/${path.replace(':reference', '{reference}')}`;
      return Object.keys(
        Object(description.get('paths', template, method.toLowerCase(), 'responses')),
      ).sort();
    };
    expect(responsesOf(documented)).toEqual(['200', 'default']);
    expect(responsesOf(assumed)).toEqual(expect.arrayContaining(['200', '401', '404']));
    expect(responsesOf(assumed)).not.toContain('default');
  });
});
