import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ChargeMobileMoneyInput,
  chargeMobileMoneyInputSchema,
  type InitializeInput,
  InvalidInputError,
  initializeInputSchema,
  networks,
} from '../../src/index.ts';
import { catchError, charge, payment, startService } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

test('sends any phone number as it was given (property)', async () => {
  const service = await startService();
  const client = service.client();
  const form = fc
    .string({ unit: 'binary', maxLength: 30 })
    .filter((text) => /\p{Nd}/u.test(text) && !/\p{Cc}/u.test(text));
  const known = fc.constantFrom('0244123456', '+233 24 412 3456', '(024) 412-3456', '٠٢٤٤١٢٣٤٥٦', ' 024 ');
  await fc.assert(
    fc.asyncProperty(fc.oneof(known, form), async (phone) => {
      await client.chargeMobileMoney({ ...charge, phone });
      expect(JSON.parse(service.requests.at(-1)?.body ?? 'null')).toEqual({ ...charge, amount: 25.5, phone });
    }),
    { numRuns: chooseSize(30, 100) },
  );
});

test('refuses any unknown field, so that none is ignored (property)', async () => {
  const service = await startService();
  const client = service.client();
  const misspelt = fc.oneof(
    fc.constantFrom(
      'curency',
      'Currency',
      'currency ',
      '__proto__',
      'constructor',
      'toString',
      'phone',
      'reference',
    ),
    fc.string({ minLength: 1, maxLength: 12 }),
  );
  await fc.assert(
    fc.asyncProperty(
      misspelt.filter((key) => !['amount', 'customer_email', 'currency'].includes(key)),
      async (key) => {
        const input = Object.fromEntries([...Object.entries(payment), [key, 'USD']]);
        const failure = await catchError(Reflect.apply(client.initialize, client, [input]));
        expect(failure).toBeInstanceOf(InvalidInputError);
        expect(failure).toMatchObject({ outcome: 'not_sent', retryable: false, code: 'invalid_input' });
        // A name that is no plain word could be a key or a phone number.
        const path = /^[a-z]{1,12}$/.test(key)
          ? key
          : expect.toSatisfy((shown) => [key, '[REDACTED]'].includes(shown));
        expect(failure).toHaveProperty('issues', [
          { path, code: 'unknown_field', message: expect.stringMatching(/spelling|did you mean/) },
        ]);
      },
    ),
  );
  expect(service.requests).toEqual([]);
});

test('parses its own output to the same input again (property)', () => {
  const fields = {
    amount: fc.oneof(
      fc.integer({ min: 100, max: 10 ** 9 }).map((cents) => cents / 100),
      fc.constant('25.50'),
    ),
    customer_email: fc.emailAddress(),
    currency: fc.option(fc.constantFrom('ghs', 'Usd', 'NGN'), { nil: undefined }),
  };
  const forms = fc.record(fields, { requiredKeys: ['amount', 'customer_email'] });
  const charges = fc.record(
    { ...fields, phone: fc.constant('024 412 3456'), network: fc.constantFrom(...networks) },
    { requiredKeys: ['amount', 'customer_email', 'phone', 'network'] },
  );
  fc.assert(
    fc.property(forms, charges, (form, chargeForm) => {
      const parsed: InitializeInput = initializeInputSchema.parse(form);
      expect(initializeInputSchema.parse(parsed)).toEqual(parsed);
      const parsedCharge: ChargeMobileMoneyInput = chargeMobileMoneyInputSchema.parse(chargeForm);
      expect(chargeMobileMoneyInputSchema.parse(parsedCharge)).toEqual(parsedCharge);
    }),
  );
});
