import { createServer, type RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { runProbe } from '../../../../src/developers/probe/run.ts';
import type { ProbeAccess } from '../../../../src/developers/probe/service.ts';
import { listenForTest } from '../../../helpers/listen.ts';
import { FAST, NOBODY } from './run-probe.ts';

const API_KEY = 'sk_test_probe_key_4711';

interface Received {
  readonly method: string;
  readonly body: string;
  readonly at: number;
}

async function probe(respond: RequestListener, pace: Partial<ProbeAccess> = {}) {
  const pages: string[] = [];
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      requests.push({ method: request.method ?? '', body, at: performance.now() });
      respond(Object.assign(request, { body }), response);
    });
  });
  const baseUrl = `http://127.0.0.1:${await listenForTest(server)}/api/v1`;
  const { signal } = new AbortController();
  const options = { ...FAST, baseUrl, apiKey: API_KEY, signal, readsOnly: false, ...pace };
  const person = async ({ page }: { page: string }) => pages.push(page) > 0;
  const result = await runProbe(options, { ...NOBODY, person, webhooks: [] });
  return { ...result, requests, pages };
}

const json =
  (status: number, text: string): RequestListener =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);

/** Gives back all that it got, in each place that a report could show. */
const echo: RequestListener = (request, response) => {
  const body = 'body' in request ? String(request.body) : '';
  const given = `${request.headers.authorization} ${request.url} ${body}`;
  const word = given.replace(/\W/g, '-').slice(0, 200);
  response.writeHead(200, {
    'content-type': 'application/json',
    [`x-${word}-request-id`]: given,
    'keep-alive': `timeout=5, ${word}`,
  });
  const data = {
    reference: `TXN-${word}`,
    status: word,
    [given]: given,
    amount: given,
    checkout_url: given,
    paid_at: given,
    'TXN-ABCDEF': '',
  };
  response.end(JSON.stringify({ status: true, message: given, data, [given]: { [given]: given } }));
};

let count = 0;
let late = 0;
const wrong: [string, RequestListener][] = [
  ['500 in JSON', json(500, '{"status":false}')],
  ['500 without a body', json(500, '')],
  ['200 with a list', json(200, '[]')],
  ['200 with null', json(200, 'null')],
  ['200 with text', json(200, 'fine')],
  ['404 for all', json(404, '{"error":"TXN-1"}')],
  ['429 for all', json(429, '{}')],
  ['a refusal as success', json(200, '{"status":false,"data":{"reference":"TXN-1","status":7,"amount":{}}}')],
  ['all that it got', echo],
  [
    'a payment for all',
    (request, response) => json(201, `{"data":{"reference":"TXN-A${++count}"}}`)(request, response),
  ],
  [
    'a page for each payment but the first eleven',
    (request, response) => {
      const data = {
        reference: `TXN-B${++late}`,
        ...(late > 11 ? { checkout_url: 'https://pay.example' } : {}),
      };
      if (request.method === 'GET') late--;
      return json(200, JSON.stringify({ data }))(request, response);
    },
  ],
];

test.each(wrong)('ends and says so if a service responds with %s', async (_, respond) => {
  const { findings, transactions, requests } = await probe(respond);
  const broken = findings.filter(({ verdict }) => verdict === 'does not hold');
  expect(broken.length).toBeGreaterThan(0);
  expect(transactions).toBeLessThanOrEqual(12);
  expect(requests.filter(({ method }) => method === 'POST').length).toBeLessThanOrEqual(12);
  expect(JSON.stringify(findings)).not.toMatch(/4711|@|0000000000|TXN-\w/);
});

test('leads a person to a page by an address that a header can hold', async () => {
  const checkout_url = 'https://pay.example/\u2603\r\nset-cookie: a/TXN-A1';
  const data = { reference: 'TXN-A1', status: 'pending', checkout_url };
  const { pages } = await probe(json(200, JSON.stringify({ status: true, data })));
  expect(pages[0]).toBe('https://pay.example/%E2%98%83set-cookie:%20a/TXN-A1');
});

describe('watches a connection', () => {
  const answer = (headers: Record<string, string>, isClosed: boolean): RequestListener =>
    function respond(request, response) {
      response.writeHead(404, headers).end('{}');
      if (isClosed) response.once('finish', () => setImmediate(() => request.socket.destroy()));
    };
  test.each([
    ['nothing is announced', { connection: 'keep-alive' }, false, 'holds', 'open for 0.02 s, not announced'],
    [
      'it is closed early',
      { 'keep-alive': 'timeout=60' },
      true,
      'does not hold',
      'announced: timeout=60; closed in under 0.02 s',
    ],
    ['its end is announced', { connection: 'close' }, true, 'holds', 'announced: close; open for 0 s'],
  ])('if %s', async (_, headers, isClosed, verdict, seen) => {
    const { findings } = await probe(answer(headers, isClosed), { idleTime: 20 });
    expect(findings.find(({ id }) => id === 'idle-connections')).toMatchObject({ verdict, seen });
  });
});

test('does not count a refusal of the charge that names a transaction', async () => {
  const { findings } = await probe(json(404, '{"reference":"TXN-A1"}'));
  expect(findings.find(({ id }) => id === 'test-charge')).toMatchObject({ verdict: 'does not hold' });
});

test('leaves the given time between two requests', async () => {
  const { requests } = await probe(json(404, '{}'), { interval: 100, readsOnly: true });
  const [first, last] = [requests[0]?.at ?? 0, requests.at(-1)?.at ?? 0];
  expect(requests).toHaveLength(5);
  expect(last - first).toBeGreaterThan(3 * 100);
});
