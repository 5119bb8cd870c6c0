import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InvalidInputError, referenceSchema } from '../../src/index.ts';
import { catchError, sendJson, startService, successBodies } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

const VERIFY_PATH = '/api/v1/transactions/verify/';

test('refuses a reference, or sends it as one path segment (property)', async () => {
  const service = await startService((response, { path }) => {
    sendJson(
      response,
      200,
      successBodies.verify({ reference: decodeURIComponent(path.slice(VERIFY_PATH.length)) }),
    );
  });
  const client = service.client();
  const hostile = fc.constantFrom(
    '/',
    '\\',
    '..',
    '.',
    '%',
    '2e',
    '2f',
    '?',
    '#',
    ';',
    '@',
    ':',
    '$&',
    ' ',
    '\r\n',
  );
  const text = fc
    .array(fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 8 }), fc.string({ maxLength: 8 })), {
      maxLength: 6,
    })
    .map((parts) => parts.join(''));
  const prefix = fc.constantFrom('TXN-', 'TXN-', 'TXN-', '');
  await fc.assert(
    fc.asyncProperty(prefix, text, async (start, rest) => {
      const reference = start + rest;
      const before = service.requests.length;
      if (!referenceSchema.safeParse(reference).success) {
        expect(await catchError(client.verify(reference))).toBeInstanceOf(InvalidInputError);
        expect(service.requests).toHaveLength(before);
        return;
      }
      await client.verify(reference);
      const path = service.requests.at(-1)?.path ?? '';
      expect(path.startsWith(VERIFY_PATH)).toBe(true);
      const segment = path.slice(VERIFY_PATH.length);
      expect(segment).not.toMatch(/[/\\?#]/);
      expect(decodeURIComponent(segment)).toBe(reference);
    }),
    { numRuns: chooseSize(200, 1000) },
  );
  expect(service.requests.length).toBeGreaterThan(chooseSize(5, 50));
});
