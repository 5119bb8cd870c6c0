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
import { successBodies } from '../../helpers/service.ts';

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
