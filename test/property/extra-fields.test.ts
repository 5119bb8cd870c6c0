import fc from 'fast-check';
import { expect, test } from 'vitest';
import { REFERENCE } from '../helpers/calls.ts';
import { expectFields } from '../helpers/fields.ts';
import { charge, payment, sendJson, startService, successBodies } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

test('keeps any extra field of a response on the result (property)', async () => {
  const own = Object.keys({ ...successBodies.verify().data, ...successBodies.initialize().data });
  const extras = fc.dictionary(
    fc.oneof(
      fc.string().filter((name) => name !== '__proto__'),
      fc.constantFrom('raw_status', 'message', 'paid_at', 'expect', 'id', 'hasOwnProperty', 'then'),
    ),
    fc.jsonValue(),
  );
  let body: unknown;
  const service = await startService((response) => sendJson(response, 200, body));
  const client = service.client();
  await fc.assert(
    fc.asyncProperty(extras, async (all) => {
      const extra = Object.fromEntries(Object.entries(all).filter(([name]) => !own.includes(name)));
      body = successBodies.verify(extra);
      expectFields(await client.verify(REFERENCE), extra);
      body = successBodies.initialize(extra);
      expectFields(await client.initialize(payment), extra);
      body = successBodies.chargeMobileMoney(extra);
      const { message: _, ...others } = extra;
      expectFields(await client.chargeMobileMoney(charge), {
        ...others,
        ...successBodies.chargeMobileMoney().data,
      });
    }),
    { numRuns: chooseSize(30, 100) },
  );
});

test('sends any field of extraBody beside those of the input (property)', async () => {
  const service = await startService();
  const client = service.client();
  const inputFields = ['amount', 'customer_email', 'currency'];
  const name = fc.string({ maxLength: 12 }).filter((text) => !inputFields.includes(text));
  const odd = fc.constantFrom('constructor', 'toString', '__proto__', 'phone', 'Amount', 'callback_url');
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.oneof(name, odd), fc.jsonValue()), async (extraBody) => {
      await client.initialize(payment, { extraBody });
      const sent: unknown = JSON.parse(service.requests.at(-1)?.body ?? '');
      expectFields(sent, { ...extraBody, ...payment, amount: 25.5 });
      expect(Object.keys(Object(sent))).toHaveLength(
        new Set([...Object.keys(extraBody), ...Object.keys(payment)]).size,
      );
    }),
  );
});
