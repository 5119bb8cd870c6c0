import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findAmountIssue, isSameAmount, MAX_AMOUNT } from '../../src/api/money.ts';
import { TransactionMismatchError } from '../../src/index.ts';
import { catchError, charge, payment, sendJson, startService, successBodies } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

/** Decimal text from whole hundredths, without a float. */
const text = (cents: number | bigint) => {
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
};
const withoutEndZeros = (decimal: string) => decimal.replace(/\.?0+$/, '');

const anyCents = fc.oneof(
  fc.integer({ min: 1_00, max: 1_000_000_00 }),
  fc.integer({ min: 1_00, max: MAX_AMOUNT * 100 }),
);

test('sends an amount as the JSON number that was meant (property)', async () => {
  let returned = '';
  const service = await startService((response, { path }) => {
    const body = path.endsWith('/initialize') ? successBodies.initialize : successBodies.chargeMobileMoney;
    sendJson(response, 200, body({ amount: returned }));
  });
  const client = service.client();
  await fc.assert(
    fc.asyncProperty(anyCents, fc.boolean(), fc.boolean(), async (cents, asText, byCheckout) => {
      returned = text(cents);
      const amount = asText ? returned : cents / 100;
      const result = byCheckout
        ? await client.initialize({ ...payment, amount })
        : await client.chargeMobileMoney({ ...charge, amount });
      expect(result.amount).toBe(returned);
      const sent = service.requests.at(-1)?.body;
      expect(sent).toMatch(`"amount":${withoutEndZeros(returned)},`);
    }),
    { numRuns: chooseSize(100, 500) },
  );
});

test('refuses a response that is one hundredth off (property)', async () => {
  let returned = '';
  const service = await startService((response) =>
    sendJson(response, 200, successBodies.initialize({ amount: returned })),
  );
  const client = service.client();
  await fc.assert(
    fc.asyncProperty(anyCents, fc.constantFrom(-1, 1), async (cents, off) => {
      returned = text(cents + off);
      const failure = await catchError(client.initialize({ ...payment, amount: text(cents) }));
      expect(failure).toBeInstanceOf(TransactionMismatchError);
      expect(failure).toMatchObject({
        outcome: 'unknown',
        retryable: false,
        reference: 'TXN-8f2c61d0',
        mismatches: [{ field: 'amount', expected: text(cents), actual: returned }],
        transaction: successBodies.initialize({ amount: returned }).data,
      });
    }),
    { numRuns: chooseSize(50, 200) },
  );
});

/** Each step is coprime to 100, so that every fraction occurs with every kind of whole number. */
const step = chooseSize(1_009, 101);

test('takes, writes and compares amounts to 1,000,000.00 exactly', () => {
  const wrong: string[] = [];
  for (let cents = 1_00; cents <= 1_000_000_00; cents += step) {
    // Division rounds correctly, so this is the same double as the literal `25.5`.
    const [amount, decimal] = [cents / 100, text(cents)];
    const isExact =
      findAmountIssue(amount) === null &&
      findAmountIssue(decimal) === null &&
      Number(decimal) === amount &&
      JSON.stringify(amount) === withoutEndZeros(decimal) &&
      isSameAmount(decimal, amount) &&
      !isSameAmount(decimal, (cents - 1) / 100);
    if (!isExact) wrong.push(decimal);
  }
  expect(wrong.slice(0, 20)).toEqual([]);
});

test('accepts a computed number only if it is exact (property)', () => {
  fc.assert(
    fc.property(fc.double({ min: 1, max: MAX_AMOUNT, noNaN: true }), (amount) => {
      const exact = isSameAmount(amount, amount.toFixed(2));
      expect(findAmountIssue(amount)).toBe(exact ? null : 'too_many_decimals');
    }),
  );
});

test('compares decimals by value, whatever zeros they have (property)', () => {
  const zeros = fc.nat({ max: 5 }).map((count) => '0'.repeat(count));
  const written = (cents: bigint, before: string, after: string) => `${before}${text(cents)}${after}`;
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), zeros, zeros, zeros, (cents, a, b, c) => {
      const plain = withoutEndZeros(text(cents));
      expect(isSameAmount(written(cents, a, b), plain)).toBe(true);
      expect(isSameAmount(written(cents, a, b), written(cents, c, ''))).toBe(true);
      expect(isSameAmount(written(cents, a, b), text(cents + 1n))).toBe(false);
      expect(isSameAmount(written(cents, a, b), `${text(cents)}${c}1`)).toBe(false);
    }),
  );
});
