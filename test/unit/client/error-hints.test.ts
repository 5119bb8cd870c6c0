import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { PaymentsClient } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { API_KEY, catchError, startService } from '../../helpers/service.ts';

test.each([...posts, 'verify'] as const)(
  'names a baseUrl without /api/v1 after a 404 of %s',
  async (operation) => {
    const service = await startService(404);
    for (const path of ['', '/shop', '/api', '/api/v2', '/api/v1/shop']) {
      const baseUrl = service.baseUrl.replace('/api/v1', path);
      const failure = await catchError(calls[operation](service.client({ baseUrl })));
      expect(failure).toMatchObject({ code: 'not_found' });
      expect(String(failure)).toContain(`The baseUrl ${baseUrl} has no /api/v1 at its end`);
    }
    const complete = await catchError(calls[operation](service.client()));
    expect(String(complete)).not.toContain('/api/v1');
  },
);

test('shortens a long baseUrl in the error of a 404', async () => {
  const service = await startService(404);
  const client = service.client({ baseUrl: `${service.baseUrl}/${'shop/'.repeat(50)}end` });
  const failure = await catchError(client.verify(REFERENCE));
  expect(String(failure)).toContain('shop/end has no /api/v1');
  expect(String(failure).length).toBeLessThan(220);
});

test('names another account or mode after a 404 of verify', async () => {
  const service = await startService(404);
  const failure = await catchError(service.client().verify(REFERENCE));
  expect(failure).toMatchObject({
    outcome: null,
    message: expect.stringContaining('another account or mode?'),
  });
});

const quoted = [
  `"${API_KEY}"`,
  `'${API_KEY}'`,
  `\`${API_KEY}\``,
  ` "${API_KEY}"\n`,
  `\u201c${API_KEY}\u201d`,
];

test.each(quoted)('names the quotation marks around the key %j, but not the key', async (apiKey) => {
  const message = /quotation marks/;
  const make = () => new PaymentsClient({ apiKey, baseUrl: 'https://payments.example' });
  expect(make).toThrow(message);
  const service = await startService(200);
  const failure = await catchError(service.client({ apiKey: () => apiKey }).verify(REFERENCE));
  expect(failure).toMatchObject({ name: 'ConfigurationError', message: expect.stringMatching(message) });
  expect(inspect(failure, { depth: 9 })).not.toContain(API_KEY);
  expect(service.requests).toEqual([]);
});

test.each(["sk'live", '"', "'a", 'a"b"'])(
  'accepts the key %j with quotation marks inside',
  async (apiKey) => {
    const service = await startService(401);
    expect(await catchError(service.client({ apiKey }).verify(REFERENCE))).toMatchObject({ status: 401 });
  },
);
