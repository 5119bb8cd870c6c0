import { createServer, type RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { runProbe } from '../../../../src/developers/probe/run.ts';
import { listenForTest } from '../../../helpers/listen.ts';
import { FAST, NOBODY } from './run-probe.ts';

const API_KEY = 'sk_test_probe_key_4711';

interface Received {
  readonly method: string;
  readonly body: string;
  readonly at: number;
}

async function probe(respond: RequestListener, pace: { interval?: number; idleTime?: number } = {}) {
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
  const result = await runProbe(options, { ...NOBODY, person: async () => true, webhooks: [] });
  return { ...result, requests };
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
  };
  response.end(JSON.stringify({ status: true, message: given, data, [given]: { [given]: given } }));
};

let count = 0;
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
];

test.each(wrong)('ends and says so if a service responds with %s', async (_, respond) => {
  const { findings, transactions, requests } = await probe(respond);
  const broken = findings.filter(({ verdict }) => verdict === 'does not hold');
  expect(broken.length).toBeGreaterThan(0);
  expect(transactions).toBeLessThanOrEqual(12);
  expect(requests.filter(({ method }) => method === 'POST').length).toBeLessThanOrEqual(12);
  expect(JSON.stringify(findings)).not.toMatch(/4711|@|0000000000|TXN-\w/);
});

test('ends if a service cuts each connection after the first', async () => {
  let isFirst = true;
  const { findings } = await probe((request, response) => {
    if (!isFirst) return request.socket.destroy();
    isFirst = false;
    return json(404, '{}')(request, response);
  });
  expect(findings.filter(({ verdict }) => verdict === 'does not hold')).toEqual([]);
  expect(findings.find(({ id }) => id === 'equal-requests')).toMatchObject({
    verdict: 'not shown',
    seen: expect.stringMatching(/^The service cannot be reached, or cuts the connection \(\w+\)\.$/),
  });
});

test('finds a connection that stays open without an announcement', async () => {
  const { findings } = await probe(
    (_, response) => response.writeHead(404, { connection: 'keep-alive' }).end('{}'),
    { idleTime: 20 },
  );
  const found = findings.find(({ id }) => id === 'idle-connections');
  expect(found).toMatchObject({ verdict: 'holds', seen: 'open for 0.02 s' });
});

test('leaves the given time between two requests', async () => {
  const { requests } = await probe(json(404, '{}'), { interval: 20 });
  const [first, last] = [requests[0]?.at ?? 0, requests.at(-1)?.at ?? 0];
  expect(last - first).toBeGreaterThan((requests.length - 2) * 20);
});
