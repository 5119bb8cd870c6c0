import { expect, test } from 'vitest';
import { MAX_AMOUNT } from '../../../src/api/money.ts';
import { InvalidInputError } from '../../../src/index.ts';
import { catchError, charge, payment, startService } from '../../helpers/service.ts';

const refused: [name: string, amount: unknown, code: string][] = [
  ['1.1 × 3', 1.1 * 3, 'too_many_decimals'],
  ['1.1 + 2.2', 1.1 + 2.2, 'too_many_decimals'],
  ['10.005', 10.005, 'too_many_decimals'],
  ["'10.005'", '10.005', 'too_many_decimals'],
  ["'10.500'", '10.500', 'too_many_decimals'],
  ["'10.1000000000000000001'", '10.1000000000000000001', 'too_many_decimals'],
  ['0.99', 0.99, 'too_small'],
  ["'0.99'", '0.99', 'too_small'],
  ["'0.999999999999999999999'", '0.999999999999999999999', 'too_many_decimals'],
  ['0', 0, 'too_small'],
  ['-0', -0, 'too_small'],
  ['-5', -5, 'too_small'],
  ["'-5'", '-5', 'too_small'],
  ['Number.MIN_VALUE', Number.MIN_VALUE, 'not_a_decimal'],
  ['2 ** 46 + 1', MAX_AMOUNT + 1, 'too_large'],
  ['2 ** 60', 2 ** 60, 'too_large'],
  ["'1152921504606846976'", String(2n ** 60n), 'too_large'],
  ['Number.MAX_VALUE', Number.MAX_VALUE, 'too_large'],
  ['400 digits', '9'.repeat(400), 'too_large'],
  ["''", '', 'not_a_decimal'],
  ["' '", ' ', 'not_a_decimal'],
  ["' 5'", ' 5', 'not_a_decimal'],
  ["'5 '", '5 ', 'not_a_decimal'],
  ["'5\\n'", '5\n', 'not_a_decimal'],
  ["'+5'", '+5', 'not_a_decimal'],
  ["'5.'", '5.', 'not_a_decimal'],
  ["'.5'", '.5', 'not_a_decimal'],
  ["'05'", '05', 'not_a_decimal'],
  ["'5,00'", '5,00', 'not_a_decimal'],
  ["'1,000'", '1,000', 'not_a_decimal'],
  ["'1_000'", '1_000', 'not_a_decimal'],
  ["'1e3'", '1e3', 'not_a_decimal'],
  ["'0x10'", '0x10', 'not_a_decimal'],
  ["'0b11'", '0b11', 'not_a_decimal'],
  ["'1.2.3'", '1.2.3', 'not_a_decimal'],
  ["'GHS 5'", 'GHS 5', 'not_a_decimal'],
  ["'NaN'", 'NaN', 'not_a_decimal'],
  ["'١٠'", '١٠', 'not_a_decimal'],
  ["'５'", '５', 'not_a_decimal'],
  ['NaN', Number.NaN, 'invalid_type'],
  ['Infinity', Number.POSITIVE_INFINITY, 'invalid_type'],
  ['-Infinity', Number.NEGATIVE_INFINITY, 'invalid_type'],
  ['nothing', undefined, 'invalid_type'],
  ['null', null, 'invalid_type'],
  ['true', true, 'invalid_type'],
  ['5n', 5n, 'invalid_type'],
  ['[5]', [5], 'invalid_type'],
  ['an object that turns into 5', { valueOf: () => 5, toString: () => '5' }, 'invalid_type'],
  ['new Number(5)', Object(5), 'invalid_type'],
];

test.each(refused)('refuses the amount %s, and sends nothing', async (_, amount, code) => {
  const service = await startService();
  const client = service.client();
  const odd = { amount: amount as number };
  const calls = [
    () => client.initialize({ ...payment, ...odd }),
    () => client.chargeMobileMoney({ ...charge, ...odd }),
  ];
  for (const call of calls) {
    const failure = await catchError(call());
    expect(failure).toBeInstanceOf(InvalidInputError);
    expect(failure).toMatchObject({ outcome: 'not_sent', issues: [{ path: 'amount', code }] });
  }
  expect(service.requests).toEqual([]);
});

test('checks the amount of expect by the same rules', async () => {
  const service = await startService();
  const failure = await catchError(
    service.client().verify('TXN-8f2c61d0', { expect: { amount: '25,50', currency: 'GH' } }),
  );
  expect(failure).toMatchObject({
    name: 'InvalidInputError',
    issues: [
      { path: 'expect.amount', code: 'not_a_decimal' },
      { path: 'expect.currency', code: 'invalid_format' },
    ],
  });
  expect(service.requests).toEqual([]);
});
