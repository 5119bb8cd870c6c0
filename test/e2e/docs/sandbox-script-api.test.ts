import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { faultSchema, listKinds } from '../../../src/developers/service/faults.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { startTestApi } from '../../unit/developers/sandbox/script-api-client.ts';
import { charge } from '../../unit/developers/sandbox/start-sandbox.ts';
import { startProcess } from '../../unit/operators/command/merchant-project.ts';
import { root } from './pages.ts';
import { startSandboxCommand } from './shop-process.ts';
import { fencedIn, readPage, sectionOf } from './tables.ts';

const PAGE = sectionOf(readPage('docs/reference/payment-sandbox.md'), 'Use the script API');

test('runs the script of the guide against a process of its own', async () => {
  const { url } = await startSandboxCommand();
  const [script = '', ...others] = fencedIn(
    sectionOf(readPage('docs/guides/sandbox.md'), 'Test with a script'),
    'sh',
  );
  expect(others).toEqual([]);
  const shown = script.replace('http://127.0.0.1:4010', url);
  expect(shown).not.toBe(script);
  // Each response on a line of its own.
  const quiet = shown.replaceAll('curl ', "curl --silent --show-error --fail-with-body --write-out '\\n' ");
  const { ended } = startProcess('/bin/sh', ['-ec', quiet], root);
  const { code, out, err } = await ended;
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const responses = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(responses).toEqual([
    { faults: [expect.objectContaining({ operation: 'verify', remaining: 2 })] },
    expect.objectContaining({ amount: '25.50', plan: { status: 'success', settleAt: expect.any(Number) } }),
    { requests: [] },
    { doubleCharges: [] },
  ]);
  expect((await (await fetch(`${url}/sandbox`)).json()).transactions).toBe(0);
});

test('advances the time of a process, and a prompt expires', async () => {
  const { url } = await startSandboxCommand('--expiry', '60');
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(`${url}/sandbox${path}`, init)).json();
  };
  const { reference } = await post('/transactions', charge);
  const read = async () => (await fetch(`${url}/sandbox/transactions/${reference}`)).json();
  expect(await read()).toMatchObject({ status: 'pending', failure: null });
  await post('/advance', { milliseconds: 60_000 });
  expect(await read()).toMatchObject({ status: 'failed', failure: 'expired' });
});

describe('the table of requests', () => {
  const ROW = /^\| `(?<method>[A-Z]+) (?<path>\/sandbox\S*)` \| (?<fields>.*?) ?\| .*\|$/gm;
  const rows = [...PAGE.matchAll(ROW)].map(({ groups }) => ({
    method: groups?.method ?? '',
    path: groups?.path ?? '',
    fields: [...(groups?.fields ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  }));

  test('names every method of every path, and no other', async () => {
    const { sandbox, get } = await startTestApi();
    const paths = new Set(rows.map(({ path }) => path));
    expect([...paths]).toEqual(expect.arrayContaining(Object.values((await get('')).body.links)));
    for (const path of paths) {
      const { headers } = await fetch(sandbox.url + path, { method: 'OPTIONS' });
      const documented = rows.filter((row) => row.path === path).map(({ method }) => method);
      expect(headers.get('allow'), path).toBe(documented.join(', '));
    }
  });

  const withFields = rows
    .filter(({ method }) => method !== 'DELETE')
    .map((row) => [row.method, row.path, row.fields] as const);

  test.each(withFields)('names every field of %s %s', async (method, path, fields) => {
    const { sandbox, payments } = await startTestApi();
    const { reference } = await payments.chargeMobileMoney(charge);
    const address = sandbox.url + path.replace(':reference', reference);
    const response =
      method === 'GET'
        ? await fetch(`${address}?noSuchField=1`)
        : await fetch(address, {
            method,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ noSuchField: 1 }),
          });
    const { error } = await response.json();
    const list = fields.length > 0 ? `There are: ${fields.join(', ')}` : 'It has no fields';
    expect(error.issues).toContainEqual({
      path: '',
      message: `has an unknown field "noSuchField". ${list}`,
    });
  });
});

describe('the examples', () => {
  const [transaction, request, webhook] = fencedIn(PAGE, 'json').map((code) => JSON.parse(code));

  test('show a transaction with all of its fields', async () => {
    const { payments, get } = await startTestApi();
    const { reference } = await payments.chargeMobileMoney({ ...charge, customer_email: 'ama@example.com' });
    const [shown] = (await get('/transactions')).body.transactions;
    expect(Object.keys(transaction)).toEqual(Object.keys(shown));
    const { createdAt } = shown;
    const example = { ...transaction, reference, createdAt, changedAt: createdAt };
    expect(shown).toEqual({ ...example, plan: { ...example.plan, settleAt: createdAt + 300_000 } });
    expect(transaction.plan.settleAt - transaction.createdAt).toBe(300_000);
  });

  test('show a request with all of its fields', async () => {
    const { sandbox, payments, get } = await startTestApi();
    const { reference } = await payments.chargeMobileMoney(charge);
    sandbox.fault('verify', { kind: 'status', status: 502 });
    await payments.verify(reference).catch(() => {});
    const [shown] = (await get('/requests')).body.requests;
    expect(Object.keys(request)).toEqual(Object.keys(shown));
    const { at, requestId, duration, headers } = shown;
    const path = `/transactions/verify/${reference}`;
    expect(shown).toEqual({ ...request, path, reference, at, requestId, duration, headers });
    expect(headers).toMatchObject(request.headers);
  });

  test('show a webhook with all of its fields', async () => {
    const { payments, put, post } = await startTestApi();
    const receiver = createServer((_, response) => response.writeHead(204).end());
    await put('/webhooks/receiver', { url: `http://127.0.0.1:${await listenForTest(receiver)}/` });
    const { reference } = await payments.chargeMobileMoney(charge);
    await post(`/transactions/${reference}`, { status: 'success' });
    const { webhooks } = (await post('/webhooks/flush', {})).body;
    expect(webhooks).toHaveLength(1);
    const [shown] = webhooks;
    expect(Object.keys(webhook)).toEqual(Object.keys(shown));
    const { createdAt, url, attempts, headers } = shown;
    expect(Object.keys(webhook.attempts[0])).toEqual(Object.keys(attempts[0]));
    expect(attempts).toMatchObject([{ status: 204, body: '', error: null }]);
    expect(headers).toMatchObject(webhook.headers);
    expect(shown).toMatchObject({
      ...webhook,
      reference,
      createdAt,
      url,
      attempts,
      headers,
      body: { event: 'transaction.success', data: { reference, status: 'success' } },
    });
  });

  test('show every kind of fault, with its fields', async () => {
    const { post } = await startTestApi();
    const kinds = [...PAGE.matchAll(/^\| `(?!kind`)(?<kind>\w+)` \| (?<fields>.*?) ?\|/gm)].map(
      ({ groups }) => ({
        kind: groups?.kind ?? '',
        fields: [...(groups?.fields ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
      }),
    );
    const check = async (path: string, documented: typeof kinds, more: object) => {
      const refused = await post(path, { ...more, fault: { kind: 'noSuchKind' } });
      expect(refused.body.error.issues).toEqual([
        { path: 'fault.kind', message: `must be one of ${documented.map(({ kind }) => kind).join(', ')}` },
      ]);
      for (const { kind, fields } of documented) {
        const { body } = await post(path, { ...more, fault: { kind, noSuchField: 1 } });
        expect(body.error.issues).toContainEqual({
          path: 'fault',
          message: `has an unknown field "noSuchField". There are: ${['kind', ...fields].join(', ')}`,
        });
      }
    };
    const { length } = [...listKinds(faultSchema)];
    await check('/faults', kinds.slice(0, length), { operation: 'verify' });
    await check('/webhooks/faults', kinds.slice(length), {});
  });
});
