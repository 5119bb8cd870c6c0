import { describe, expect, test, vi } from 'vitest';
import type { CreateOptions, PaymentsClientOptions } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { kinds, sharedStore } from '../../helpers/journals.ts';
import {
  betweenClaimAndRequest,
  charged,
  KEY,
  keyed,
  posts,
  refusedConnection,
  replayOf,
} from '../../helpers/keyed-calls.ts';
import { catchError, respondFirst, sendJson, startService, successBodies } from '../../helpers/service.ts';

const rejections: [string, number, unknown][] = [
  ...[400, 401, 403, 404, 409, 422, 429].map((status): [string, number, unknown] => [
    `a response ${status}`,
    status,
    { message: 'no' },
  ]),
  ['status: false', 200, { status: false, message: 'no' }],
];

describe.each(rejections)('after %s', (_what, status, body) => {
  test.each(posts)('rejects %s, and sends again under the same key', async (operation) => {
    const service = await startService((response, _request, count) =>
      count === 1 ? sendJson(response, status, body) : sendJson(response, 200, successBodies[operation]()),
    );
    const journal = memoryJournal();
    const client = service.client({ journal });
    expect(await catchError(keyed[operation](client))).toMatchObject({ outcome: 'rejected' });
    expect(await journal.read(KEY)).toMatchObject({ state: 'rejected' });
    const result = await keyed[operation](client);
    expect(await keyed[operation](client)).toEqual(replayOf(result));
    expect(service.requests).toHaveLength(2);
  });
});

test('sends no retry that the journal does not record', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const service = await startService();
  const shared = sharedStore();
  let writes = 0;
  const journal = shared.intercepted(['begun'], (...write) =>
    ++writes === 1 ? shared.store.write(...write) : Promise.reject(new Error('the database is away')),
  );
  let attempts = 0;
  const client = service.client({
    journal,
    maxRetries: 5,
    fetch: (url, init) => (++attempts === 1 ? refusedConnection(url) : fetch(url, init)),
  });
  expect(await catchError(charged(client))).toMatchObject({ code: 'journal_error', outcome: 'not_sent' });
  expect(service.requests).toEqual([]);
  // A lost claim does not come back.
  expect(writes).toBe(2);
});

type Unsent = () => Promise<[PaymentsClientOptions, CreateOptions?]>;

const unsent: [string, string, Unsent][] = [
  ['no connection was made', 'not_sent', async () => [{ fetch: refusedConnection }]],
  [
    'the apiKey function failed',
    'not_sent',
    async () => [betweenClaimAndRequest(() => Promise.reject(new Error('no vault')))],
  ],
  [
    'the signal was aborted before anything was sent',
    'abort',
    async () => {
      const abort = new AbortController();
      const options = betweenClaimAndRequest(() => {
        abort.abort(new Error('the customer left'));
        return new Promise(() => {});
      });
      return [options, { signal: abort.signal }];
    },
  ],
];

describe.each(kinds)('a journal in %s', (_kind, handles) => {
  test.each(unsent)('sends again under the same key if %s', async (_what, ended, how) => {
    const service = await startService();
    const handle = handles();
    const [options, callOptions] = await how();
    const failing = service.client({ journal: handle(), ...options });
    const failure = await catchError(charged(failing, callOptions));
    expect(failure).toMatchObject(ended === 'abort' ? { message: 'the customer left' } : { outcome: ended });
    expect(await handle().read(KEY)).toMatchObject({ state: 'not_sent' });
    const client = service.client({ journal: handle() });
    const first = await charged(client);
    expect(await charged(client)).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
  });

  test('sends waiting calls in turn while the service rejects', async () => {
    const refusals = 3;
    const service = await startService((response, _request, count) =>
      count <= refusals
        ? sendJson(response, 422, {})
        : sendJson(response, 200, successBodies.chargeMobileMoney()),
    );
    const client = service.client({ journal: handles()() });
    const ends = await Promise.allSettled(Array.from({ length: 8 }, () => charged(client)));
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(refusals);
    expect(service.requests).toHaveLength(refusals + 1);
  });
});

test('makes one charge for a retried 429, and records each request', async () => {
  const shared = sharedStore();
  const service = await startService((response, _request, count) =>
    count < 3 ? sendJson(response, 429, {}) : sendJson(response, 201, successBodies.chargeMobileMoney()),
  );
  const client = service.client({ journal: shared.journal(), maxRetries: 2 });
  const first = await charged(client);
  expect(await charged(client)).toEqual(replayOf(first));
  expect(service.requests).toHaveLength(3);
  expect(shared.states(KEY)).toEqual(['begun', 'begun', 'begun', 'completed']);
  const requestIds = service.requests.map(({ headers }) => headers['x-request-id']);
  expect(await shared.journal().read(KEY)).toMatchObject({ attempts: 3, requestIds });
});

test('leaves the key unresolved after a 429 and a lost response', async () => {
  const shared = sharedStore();
  const service = await startService((response, _request, count) =>
    count === 1 ? sendJson(response, 429, {}) : response.destroy(),
  );
  const client = service.client({ journal: shared.journal(), maxRetries: 5 });
  expect(await catchError(charged(client))).toMatchObject({ outcome: 'unknown' });
  expect(await catchError(charged(client))).toMatchObject({ outcome: 'unknown' });
  expect(service.requests).toHaveLength(2);
  expect(shared.states(KEY)).toEqual(['begun', 'begun', 'unknown']);
});

test('frees the key after an abort in the pause of a 429', async () => {
  const shared = sharedStore();
  const abort = new AbortController();
  const service = await startService(respondFirst(429, {}, { 'retry-after': '25' }));
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'retry') setImmediate(() => abort.abort());
  };
  const client = service.client({ journal: shared.journal(), maxRetries: 2, onEvent });
  expect(await catchError(charged(client, { signal: abort.signal }))).toBe(abort.signal.reason);
  await charged(client);
  expect(shared.states(KEY)).toEqual(['begun', 'not_sent', 'begun', 'completed']);
});
