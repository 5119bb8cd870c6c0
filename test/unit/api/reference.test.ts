import { expect, test } from 'vitest';
import { InvalidInputError } from '../../../src/index.ts';
import { catchError, type Service, sendJson, startService, successBodies } from '../../helpers/service.ts';

const HERE = '/api/v1/transactions/verify/';

/** Responds with the reference of the path. */
function startVerifyService(): Promise<Service> {
  return startService((response, { path }) => {
    sendJson(response, 200, successBodies.verify({ reference: decodeURIComponent(path.slice(HERE.length)) }));
  });
}

const good = [
  'TXN-1',
  'TXN-8f2c61d0',
  'TXN-..',
  'TXN-.',
  'TXN--',
  'TXN-a.b_c~d',
  "TXN-!$&'()*+,;=:@",
  'TXN-"<>[]^`{|}',
  'TXN-TXN-',
  'TXN-$&$1$`',
  'TXN-:reference',
  `TXN-${'x'.repeat(251)}`,
];

test.each(good)('sends the reference %s as the last segment of the path', async (reference) => {
  const service = await startVerifyService();
  await expect(service.client().verify(reference)).resolves.toMatchObject({ reference });
  expect(service.requests.map(({ path }) => path)).toEqual([HERE + encodeURIComponent(reference)]);
});

const bad: [string, unknown][] = [
  ['empty', ''],
  ['the prefix alone', 'TXN-'],
  ['without the prefix', '8f2c61d0'],
  ['with the prefix in lower case', 'txn-8f2c61d0'],
  ['with something before the prefix', ' TXN-1'],
  ['..', '..'],
  ['TXN-/..', 'TXN-/..'],
  ['a way out of the path', 'TXN-1/../../../admin'],
  ['a way out, encoded', 'TXN-1%2f..%2f..%2fadmin'],
  ['%2e', '%2e%2e'],
  ['TXN-%2e', 'TXN-%2e'],
  ['a backslash', 'TXN-1\\..\\admin'],
  ['a slash at the end', 'TXN-1/'],
  ['a query', 'TXN-1?x=y'],
  ['a fragment', 'TXN-1#x'],
  ['a space', 'TXN-1 2'],
  ['a tab', 'TXN-1\t2'],
  ['CR LF', 'TXN-1\r\nhost: evil.example'],
  ['a line break at the end', 'TXN-1\n'],
  ['NUL', 'TXN-1\u0000'],
  ['DEL', 'TXN-1\u007f'],
  ['a letter beyond ASCII', 'TXN-é'],
  ['a full-width slash', 'TXN-1／..'],
  ['a full stop of another script', 'TXN-。。'],
  ['a lone surrogate', 'TXN-\ud800'],
  ['256 characters', `TXN-${'x'.repeat(252)}`],
  ['a number', 5],
  ['nothing', undefined],
  ['null', null],
  ['a list', ['TXN-1']],
  ['an object that turns into text', { toString: () => 'TXN-1' }],
];

test.each(bad)('refuses a reference that is %s, and sends nothing', async (_, reference) => {
  const service = await startVerifyService();
  const failure = await catchError(service.client().verify(reference as string));
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(failure).toMatchObject({
    operation: 'verify',
    outcome: null,
    issues: [{ path: 'reference' }],
  });
  expect(service.requests).toEqual([]);
});
