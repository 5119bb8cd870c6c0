import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  chargeMobileMoneyInputSchema,
  initializeInputSchema,
  networks,
  referenceSchema,
} from '../../../src/api/input.ts';
import { MAX_AMOUNT, MIN_AMOUNT } from '../../../src/api/money.ts';
import {
  chargeMobileMoney,
  DEFAULT_CURRENCY,
  initialize,
  type OperationName,
  verify,
} from '../../../src/api/operations.ts';
import { transactionStatuses } from '../../../src/api/transaction.ts';
import { assumed, documented } from '../../helpers/openapi/description.ts';
import { judgeResponse } from '../../helpers/openapi/judge.ts';
import { EMAIL } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';

const numRuns = chooseSize(300, 5_000);
const operations = { initialize, chargeMobileMoney, verify };
const names = ['initialize', 'chargeMobileMoney', 'verify'] as const;

test('description and client have the same operations', () => {
  const paths = Object.values(operations).map(({ path }) => `/${path.replace(':reference', '{reference}')}`);
  expect(Object.keys(Object(documented.get('paths')))).toEqual(paths);
  for (const { name, method, path } of Object.values(operations)) {
    const template = `/${path.replace(':reference', '{reference}')}`;
    expect(documented.get('paths', template, method.toLowerCase())).toMatchObject({ operationId: name });
  }
});

test.each([
  ['Payment', initializeInputSchema],
  ['Charge', chargeMobileMoneyInputSchema],
] as const)('description and client have the same fields of a %s', (name, schema) => {
  const properties = Object.keys(Object(documented.get('components', 'schemas', name, 'properties')));
  expect(properties).toEqual(
    Object.keys(schema.shape).sort((one, other) => properties.indexOf(one) - properties.indexOf(other)),
  );
  const missing = schema.safeParse({}).error?.issues.map(({ path }) => path.join('.'));
  expect(documented.get('components', 'schemas', name, 'required')).toEqual(missing);
});

test('description and client have the same values and limits', () => {
  const schemas = (...pointer: string[]) => documented.get('components', 'schemas', ...pointer);
  expect(schemas('Charge', 'properties', 'network', 'enum')).toEqual(networks);
  expect(schemas('SentAmount', 'minimum')).toBe(MIN_AMOUNT);
  expect(schemas('SentCurrency', 'default')).toBe(DEFAULT_CURRENCY);
  expect(assumed.get('components', 'schemas', 'SentAmount', 'maximum')).toBe(MAX_AMOUNT);
  const charged = schemas('ChargeResponse', 'properties', 'data', 'properties', 'status', 'const');
  const verified = schemas('VerifiedStatus', 'enum');
  expect(new Set([charged, ...(Array.isArray(verified) ? verified : [])])).toEqual(
    new Set(transactionStatuses),
  );
  expect(assumed.get('components', 'schemas', 'VerifiedStatus', 'enum')).toEqual(transactionStatuses);
});

const text = fc.string({ unit: 'binary', maxLength: 12 });
const references = fc.oneof(
  text,
  text.map((suffix) => `TXN-${suffix}`),
  fc.stringMatching(/^TXN-[!-~]{0,30}$/),
  fc.integer({ min: 248, max: 254 }).map((length) => `TXN-${'a'.repeat(length)}`),
);

test('description and client agree about every reference (property)', () => {
  fc.assert(
    fc.property(references, (reference) => {
      const isValid = assumed.findSchemaIssues('Reference', reference).length === 0;
      expect(isValid).toBe(referenceSchema.safeParse(reference).success);
    }),
    { numRuns },
  );
});

const inputs = fc.record(
  {
    amount: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 90, max: 10 ** 9 }).map((cents) => cents / 100) },
      fc.constantFrom(MAX_AMOUNT, MAX_AMOUNT + 1, 0, -1, 1e21, null, true),
    ),
    customer_email: fc.oneof(
      { weight: 4, arbitrary: fc.emailAddress() },
      fc.tuple(text, text).map((parts) => parts.join('@')),
      fc.constantFrom(EMAIL, 'a@b', '@b', 'a@', 'a b@c', `${'a'.repeat(65)}@b`, 'ama@пример.рф', 5),
    ),
    currency: fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(/^[A-Z]{3}$/) },
      fc.constantFrom('GH', 'GHSX', 'G1S', 5),
    ),
    phone: fc.oneof(
      { weight: 4, arbitrary: text.map((rest) => `0${rest}`) },
      text,
      fc.constantFrom('٠٢٤', 'x', 5),
    ),
    network: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...networks) },
      fc.constantFrom('MTN', '', null),
    ),
  },
  { requiredKeys: ['amount', 'customer_email', 'phone', 'network'] },
);

test('description and client agree about every wire input (property)', () => {
  let accepted = 0;
  fc.assert(
    fc.property(inputs, (input) => {
      const isValid = assumed.findSchemaIssues('Charge', input).length === 0;
      expect(isValid).toBe(chargeMobileMoneyInputSchema.safeParse(input).success);
      accepted += Number(isValid);
    }),
    { numRuns },
  );
  expect(accepted).toBeGreaterThan(numRuns / 20);
  expect(accepted).toBeLessThan(numRuns);
});

const money = {
  reference: fc.stringMatching(/^TXN-[a-zA-Z0-9_-]{1,20}$/),
  amount: fc.stringMatching(/^\d{1,9}\.\d{2}$/),
  currency: fc.stringMatching(/^[A-Za-z]{3}$/),
};
const times = fc
  .tuple(
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
    fc.constantFrom('Z', '+00:00', '+0530', '-03'),
  )
  .map(([date, offset]) => date.toISOString().slice(0, 19) + offset);
const data: Record<OperationName, fc.Arbitrary<object>> = {
  initialize: fc.record({ ...money, base: fc.webUrl() }).map(({ base, ...rest }) => ({
    ...rest,
    checkout_url: `${new URL(base).origin}/checkout/${rest.reference}`,
  })),
  chargeMobileMoney: fc.record({ ...money, status: fc.constant('processing') }),
  verify: fc.oneof(
    fc.record({
      ...money,
      status: fc.constant('success'),
      customer_email: fc.emailAddress(),
      paid_at: times,
    }),
    fc.record(
      {
        ...money,
        status: fc.constantFrom('pending', 'failed', 'abandoned'),
        customer_email: fc.emailAddress(),
        paid_at: fc.oneof(times, fc.constantFrom(null, ''), fc.jsonValue()),
      },
      { requiredKeys: ['reference', 'amount', 'currency', 'status', 'customer_email'] },
    ),
  ),
};

test.each(names)('the client accepts what is documented of %s (property)', (name) => {
  const bodies = fc.record({
    extra: fc.dictionary(fc.stringMatching(/^x_[a-z]{1,8}$/), fc.jsonValue(), { maxKeys: 3 }),
    data: data[name],
    message: fc.string(),
  });
  fc.assert(
    fc.property(bodies, ({ extra, data, message }) => {
      const body = { ...extra, status: true, message, data: { ...extra, ...data } };
      expect(judgeResponse(documented, name, { body: JSON.stringify(body) })).toEqual([]);
      expect(operations[name].output.safeParse(body).error).toBeUndefined();
    }),
    { numRuns },
  );
});
