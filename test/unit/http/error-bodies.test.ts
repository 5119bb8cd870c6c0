import { expect, test } from 'vitest';
import { APIError, InvalidRequestError } from '../../../src/index.ts';
import { catchError, payment, startService } from '../../helpers/service.ts';

/** Returns the error of `initialize` after this response. */
async function errorFrom(body: unknown, status = 422, headers = {}): Promise<APIError> {
  const service = await startService(status, typeof body === 'string' ? body : JSON.stringify(body), headers);
  const failure = await catchError(service.client().initialize(payment));
  if (!(failure instanceof APIError)) throw failure;
  return failure;
}

const amount = [{ field: 'amount', message: 'is too small' }];

test.each<[string, unknown, string | undefined, unknown[]]>([
  ['{message}', { status: false, message: 'Amount too small' }, 'Amount too small', []],
  ['{error} as text', { error: 'Amount too small' }, 'Amount too small', []],
  ['{error:{message}}', { error: { message: 'Too small', type: 'card', code: 'E1' } }, 'Too small', []],
  ['OAuth', { error: 'invalid_request', error_description: 'No key' }, 'No key', []],
  ['problem+json', { type: 'about:blank', title: 'Bad', status: 422, detail: 'Too small' }, 'Too small', []],
  ['Laravel', { message: 'Invalid', errors: { amount: ['is too small', 'x'] } }, 'Invalid', amount],
  [
    'fields with one text each',
    { message: 'Invalid', errors: { amount: 'is too small' } },
    'Invalid',
    amount,
  ],
  ['fields below error', { error: { amount: ['is too small'] } }, undefined, amount],
  ['a list below errors', { errors: [{ field: 'amount', message: 'is too small' }] }, 'is too small', amount],
  [
    'a list below error',
    { error: { message: 'Invalid', errors: [{ field: 'amount', message: 'is too small' }] } },
    'Invalid',
    amount,
  ],
  ['a list at the top', [{ field: 'amount', message: 'is too small' }], 'is too small', amount],
  ['texts in a list', { errors: ['amount is too small'] }, 'amount is too small', []],
  [
    'FastAPI',
    { detail: [{ loc: ['body', 'amount'], msg: 'is too small', type: 'ge' }] },
    'is too small',
    amount,
  ],
  [
    'NestJS',
    { statusCode: 422, message: ['amount is too small'], error: 'Unprocessable' },
    'amount is too small',
    [],
  ],
  ['zod', { issues: [{ path: ['amount'], message: 'is too small' }] }, undefined, amount],
  [
    'a list that names a source',
    { errors: [{ title: 'Invalid', detail: 'is too small', source: 'amount' }] },
    'is too small',
    amount,
  ],
  ['text', 'Amount too small\n', 'Amount too small', []],
  ['a JSON string', '"Amount too small"', 'Amount too small', []],
  ['HTML', '<html><body><h1>422</h1></body></html>', undefined, []],
  ['nothing', '', undefined, []],
  ['an empty object', {}, undefined, []],
  ['null', null, undefined, []],
  ['a number', 5, undefined, []],
  ['fields of other types', { message: 5, error: null, errors: [1, null, [], {}] }, undefined, []],
])("reads the service's message and field errors from %s", async (_, body, message, fields) => {
  const error = await errorFrom(body);
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect(error).toMatchObject({
    status: 422,
    outcome: 'rejected',
    serviceMessage: message,
    fieldErrors: fields,
  });
  if (message) expect(error.message).toContain(message);
});

test.each(['x-request-id', 'request-id', 'x-correlation-id', 'X-Amzn-RequestId', 'CF-Ray'])(
  'puts the request id of the header %s on the error',
  async (name) => {
    expect(await errorFrom({}, 422, { [name]: 'req-8f2c' })).toHaveProperty('requestId', 'req-8f2c');
    expect(await errorFrom({}, 422, { [name]: 'x'.repeat(5000) })).toHaveProperty(
      'requestId',
      'x'.repeat(200),
    );
  },
);

test.each<[string, unknown]>([
  ['{"message":"No.","code":[1,{"a":null}]}', { message: 'No.', code: [1, { a: null }] }],
  ['[]', []],
  ['null', null],
  ['0', 0],
  ['"No."', 'No.'],
  ['{"message":', '{"message":'],
  ['<h1>No.</h1>', '<h1>No.</h1>'],
  ['', ''],
])('puts the body %j on the error, as parsed JSON or as text', async (body, parsed) => {
  expect((await errorFrom(body)).body).toEqual(parsed);
});

test('cuts a long body, a long message and many field errors', async () => {
  const long = await errorFrom({ message: 'm'.repeat(10_000) });
  expect(long.serviceMessage?.length).toBeLessThan(600);
  expect(long.message.length).toBeLessThan(700);
  expect(String((await errorFrom('t'.repeat(900_000))).body).length).toBeLessThan(20_000);
  expect(JSON.stringify(await errorFrom({ message: 'No.', more: 'm'.repeat(900_000) })).length).toBeLessThan(
    20_000,
  );
  const fields = Array.from({ length: 200 }, (_, index) => ({ field: `f${index}`, message: 'm' }));
  expect((await errorFrom({ errors: fields })).fieldErrors).toHaveLength(50);
});
