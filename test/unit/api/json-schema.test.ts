import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import * as shipped from 'payment-collection-client';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { MAX_AMOUNT } from '../../../src/api/money.ts';
import * as client from '../../../src/index.ts';
import { charge } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';

const { phone: _phone, network: _network, ...payment } = charge;
const fields = { reference: 'TXN-8f2c61d0', amount: '25.50', currency: 'GHS' };
const transaction = { ...fields, status: 'success', customer_email: 'ama@example.com', paid_at: null };

/** A value that each schema accepts, by the name of the schema. */
const accepted: Record<string, unknown> = {
  initializeInputSchema: payment,
  chargeMobileMoneyInputSchema: charge,
  expectationSchema: { amount: '25.50' },
  referenceSchema: 'TXN-8f2c61d0',
  initializedPaymentSchema: { ...fields, checkout_url: 'https://pay.example/checkout/TXN-8f2c61d0' },
  transactionSchema: transaction,
};

const schemas = (from: object) =>
  Object.entries(from).flatMap(([name, value]) =>
    typeof value === 'object' && '_zod' in value ? [[name, value] as [string, z.core.$ZodType]] : [],
  );

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const compile = (schema: z.core.$ZodType, io: 'input' | 'output') =>
  ajv.compile(z.toJSONSchema(schema, { io }));

const text = fc.string({ unit: 'binary', maxLength: 8 });
const field = fc.oneof(
  fc.constantFrom(
    '',
    null,
    1,
    1.5,
    0.99,
    MAX_AMOUNT,
    MAX_AMOUNT + 1,
    '1',
    '1.5',
    '0.99',
    '01',
    '1e3',
    '-5',
    '1.555',
  ),
  fc.constantFrom('reversed', 'unrecognised', ...client.transactionStatuses, 'ghs', 'GHSX', 'telecel', 'MTN'),
  fc.constantFrom('2026-11-22T10:00:00Z', 'ama@пример.рф', 'https://pay.example/ä', 'TXN-a/b', '٠٢٤'),
  text,
);
const names = [
  'reference',
  'amount',
  'currency',
  'customer_email',
  'paid_at',
  'status',
  'raw_status',
] as const;
const changes = fc.record(
  Object.fromEntries([...names, 'phone', 'network', 'checkout_url', 'other'].map((name) => [name, field])),
  { requiredKeys: [] },
);

test.each(schemas(client))('%s converts to JSON Schema that accepts what it does', (name, schema) => {
  const [takes, returns] = [compile(schema, 'input'), compile(schema, 'output')];
  let count = 0;
  fc.assert(
    fc.property(changes, fc.constantFrom(...names), field, (change, only, value) => {
      const base = accepted[name];
      const changed = [
        { ...Object(base), ...change },
        { ...Object(base), [only]: value },
      ];
      for (const given of typeof base === 'string' ? [base, `TXN-${value}`] : [base, ...changed]) {
        const parsed = z.safeParse(schema, given);
        if (!parsed.success) continue;
        count++;
        expect(takes(given), JSON.stringify(given)).toBe(true);
        expect(returns(parsed.data), JSON.stringify(parsed.data)).toBe(true);
      }
    }),
    { numRuns: chooseSize(200, 5_000) },
  );
  expect(count).toBeGreaterThan(200);
});

describe('the JSON Schema of', () => {
  test.each([
    ['chargeMobileMoneyInputSchema', { amount: 0.99 }],
    ['chargeMobileMoneyInputSchema', { amount: MAX_AMOUNT * 2 }],
    ['chargeMobileMoneyInputSchema', { amount: '0.99' }],
    ['chargeMobileMoneyInputSchema', { amount: '25.555' }],
    ['chargeMobileMoneyInputSchema', { amount: '1e3' }],
    ['chargeMobileMoneyInputSchema', { amount: null }],
    ['chargeMobileMoneyInputSchema', { customer_email: 'ama' }],
    ['chargeMobileMoneyInputSchema', { currency: 'GH' }],
    ['chargeMobileMoneyInputSchema', { phone: 'none' }],
    ['chargeMobileMoneyInputSchema', { phone: '024\n' }],
    ['chargeMobileMoneyInputSchema', { network: 'MTN' }],
    ['chargeMobileMoneyInputSchema', { curency: 'GHS' }],
    ['initializeInputSchema', { phone: '0244123456' }],
    ['expectationSchema', { amount: undefined }],
    ['initializedPaymentSchema', { reference: 'TXN-a/b' }],
    ['transactionSchema', { status: undefined }],
    ['transactionSchema', { reference: '8f2c61d0' }],
  ])('%s refuses %o', (name, change) => {
    const given = JSON.parse(JSON.stringify({ ...Object(accepted[name]), ...change }));
    const [, schema = z.never()] = schemas(client).find(([found]) => found === name) ?? [];
    expect(z.safeParse(schema, given).success).toBe(false);
    expect(compile(schema, 'input')(given)).toBe(false);
  });

  test('transactionSchema as output has amounts with two decimals', () => {
    const returns = compile(client.transactionSchema, 'output');
    expect(returns({ ...transaction, amount: '25.50' })).toBe(true);
    expect(returns({ ...transaction, amount: '25.5' })).toBe(false);
  });

  test('each shipped schema is the same as from source', () => {
    const convert = (from: object) =>
      schemas(from).map(([name, schema]) => [
        name,
        z.toJSONSchema(schema, { io: 'input' }),
        z.toJSONSchema(schema, { io: 'output' }),
      ]);
    expect(convert(shipped)).toHaveLength(6);
    expect(convert(shipped)).toEqual(convert(client).sort());
  });
});
