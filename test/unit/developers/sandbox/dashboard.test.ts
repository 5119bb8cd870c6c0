import { expect, test, vi } from 'vitest';
import { charge, findEvent, payment, receiveEvents, startTestSandbox } from './start-sandbox.ts';

/** Returns the text of markup, without its tags. */
function readText(markup: string): string {
  return markup
    .replace(/^data: /gm, '')
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Returns the text of each request on a page, without its times: the line, and what it opens. */
function readRequests(markup: string): { line: string; details: string }[] {
  return markup
    .split('<li><details data-key="request-')
    .slice(1)
    .map((request) => {
      const [line = '', details = ''] = request
        .slice(request.indexOf('>') + 1, request.indexOf('</details>'))
        .split('</summary>');
      return { line: readText(line.replace(/<span class="when">.*/s, '')), details: readText(details) };
    });
}

/** Returns the references of the rows on a page, from the top down. */
function readRows(markup: string): string[] {
  return [...markup.matchAll(/<li id="(TXN-[^"]*)"/g)].map(([, reference = '']) => reference);
}

test('shows the key, the result and the refusal of each request', async () => {
  const { sandbox, client, payments, page } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  await payments.verify(reference);
  const refused = async (apiKey: string) =>
    client({ apiKey })
      .verify(reference)
      .catch(() => {});
  await refused('sk_live_of_a_real_shop');
  await refused(sandbox.testKey);
  await fetch(`${sandbox.baseUrl}/transactions/verify/${reference}`);
  await payments.verify('TXN-unknown').catch(() => {});
  const markup = await page('/');
  expect(readRequests(markup).map(({ line }) => line)).toEqual([
    'GET /transactions/verify/TXN-unknown 404 There is no such transaction in live mode. live key',
    'verify 401 There is no API key. no key',
    'verify 404 There is no such transaction in test mode. test key',
    'verify 401 The API key is not valid. unknown key',
    'verify 200 pending live key',
    'initialize 200 live key',
  ]);
  expect(markup).not.toContain('sk_live_of_a_real_shop');
  expect(markup).toContain(sandbox.baseUrl);
});

test('redacts keys, phone and email in the bodies of a refused request', async () => {
  const { sandbox, page } = await startTestSandbox();
  await fetch(`${sandbox.baseUrl}/transactions/charge-mobile-money/sk_live_in_a_path`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${sandbox.liveKey}`,
      'content-type': 'application/json',
      'x-request-id': 'sk_live_in_an_id',
    },
    body: '{"phone":"024 412 3456"}',
  });
  sandbox.fault('chargeMobileMoney', {
    kind: 'status',
    status: 422,
    body: { message: 'ama@example.com has no wallet at 024 412 3456, key sk_live_echoed_by_a_server' },
  });
  await fetch(`${sandbox.baseUrl}/transactions/charge-mobile-money`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.liveKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...charge, amount: 25.5, note: 'sk_live_in_a_body' }),
  });
  const markup = await page('/');
  const [last] = readRequests(markup);
  expect(last?.line).toContain(
    '422 fault: status code [REDACTED] has no wallet at [REDACTED], key [REDACTED]',
  );
  expect(last?.details).toContain('"amount": 25.5');
  expect(last?.details).toContain('"phone": "[REDACTED]"');
  expect(JSON.stringify(readRequests(markup))).not.toMatch(/412 3456|ama@/);
  expect(markup).not.toMatch(/sk_live_(?!sandbox)/);
});

test('shows verifies with the same result as one line', async () => {
  const { sandbox, payments, page } = await startTestSandbox();
  const { reference } = await payments.chargeMobileMoney(charge);
  const events = receiveEvents(`${sandbox.url}/events/dashboard`);
  for (let count = 0; count < 13; count++) await payments.verify(reference);
  // The first and the last time.
  sandbox.advance(10_000);
  await payments.verify(reference);
  const event = await findEvent(events, 'verify × 14');
  const [period = ''] = /<time[^>]*>[^<]*<\/time> – <time[^>]*>/.exec(event) ?? [];
  const [first = 0, last = 0] = [...period.matchAll(/datetime="([^"]*)"/g)].map(([, time = '']) =>
    Date.parse(time),
  );
  expect(last - first).toBeGreaterThanOrEqual(10_000);
  expect(readRequests(event).map(({ line }) => line)).toEqual([
    'verify × 14 200 pending live key',
    'charge 200 live key',
  ]);
  sandbox.fault('verify', { kind: 'status', status: 502, accepted: true });
  await payments.verify(reference).catch(() => {});
  await payments.verify(reference);
  sandbox.approve(reference);
  await payments.verify(reference);
  await payments.verify(reference);
  const other = await payments.chargeMobileMoney(charge);
  expect(readRequests(await page(`/?search=${reference}`)).map(({ line }) => line)).toEqual([
    'verify × 2 200 success live key',
    'verify 200 pending live key',
    'verify 502 fault: status code A fault: 502. live key',
    'verify × 14 200 pending live key',
    'charge 200 live key',
  ]);
  expect(readRows(await page('/'))).toEqual([other.reference, reference]);
});

test.each([{ kind: 'responseLost' }, { kind: 'hang', accepted: true }] as const)(
  'marks a charge whose response was lost by %o',
  async (fault) => {
    const { sandbox, payments, page } = await startTestSandbox();
    const mark = 'response lost: the shop does not know this charge';
    sandbox.fault('chargeMobileMoney', fault);
    const events = receiveEvents(`${sandbox.url}/events/dashboard`);
    const leaving = new AbortController();
    const charging = payments.chargeMobileMoney(charge, { signal: leaving.signal }).catch(() => {});
    await vi.waitFor(() => expect(sandbox.charges).toHaveLength(1));
    leaving.abort();
    await charging;
    const event = await findEvent(events, mark);
    // On the row itself, which is visible while it is closed.
    expect(event.slice(0, event.indexOf('</summary>'))).toContain(mark);

    // A shop that verifies it knows it.
    const [{ reference = '' } = {}] = sandbox.charges;
    await payments.verify(reference);
    const markup = await page('/');
    expect(markup).toContain('<span>response lost</span>');
    expect(markup).not.toContain('does not know');

    // The shop knows a charge whose verify alone was lost.
    sandbox.fault('verify', { kind: 'responseLost' });
    const other = await payments.chargeMobileMoney(charge);
    await payments.verify(other.reference).catch(() => {});
    expect((await page(`/?search=${other.reference}`)).match(/response lost/g)).toEqual(['response lost']);
  },
);

test('leads through all transactions, 100 on a page', async () => {
  const { sandbox, client, payments, page } = await startTestSandbox();
  const references: string[] = [];
  for (let count = 0; count < 230; count++) {
    const { reference } = await (count % 2 ? payments : client({ apiKey: sandbox.testKey })).initialize(
      payment,
    );
    references.unshift(reference);
  }
  const follow = async (label: string, markup: string) => {
    const [, link = ''] = new RegExp(`href="([^"]*)">${label}`).exec(markup) ?? [];
    return page(link.replaceAll('&amp;', '&'));
  };
  const first = await page('/');
  expect(first).toContain('>100 of 230<');
  const second = await follow('Show older: 130', first);
  const third = await follow('Show older: 30', second);
  expect(third).not.toContain('Show older');
  expect([first, second, third].flatMap(readRows)).toEqual(references);
  expect(readRows(await follow('Newest', third))).toEqual(references.slice(0, 100));

  const live = references.filter((_, index) => index % 2 === 0);
  const found = await page('/?mode=live');
  expect(found).toContain('>100 of 115 found of 230<');
  expect([...readRows(found), ...readRows(await follow('Show older: 15', found))]).toEqual(live);
  // The transaction of the link is no longer kept.
  expect(readRows(await page('/?before=TXN-deleted'))).toEqual(references.slice(0, 100));
});

test('an update respects the search', async () => {
  const { sandbox, client, payments } = await startTestSandbox();
  const test = client({ apiKey: sandbox.testKey });
  const events = receiveEvents(`${sandbox.url}/events/dashboard?mode=live&status=pending`);
  const first = await payments.initialize(payment);
  await test.initialize(payment);
  const second = await payments.initialize(payment);
  expect(readRows(await findEvent(events, second.reference))).toEqual([second.reference, first.reference]);
  sandbox.approve(second.reference);
  expect(readRows(await findEvent(events, '1 found of 3'))).toEqual([first.reference]);
  const third = await payments.initialize(payment);
  expect(readRows(await findEvent(events, third.reference))).toEqual([third.reference, first.reference]);
});

test('shows the latest 20 requests of a transaction, and how many are older', async () => {
  const { sandbox, client, payments, page } = await startTestSandbox();
  const { reference } = await payments.initialize(payment);
  const other = client({ apiKey: sandbox.testKey });
  for (let count = 0; count < 12; count++) {
    for (const own of [payments, payments, other]) await own.verify(reference).catch(() => {});
  }
  const markup = await page('/');
  expect(readRequests(markup)).toHaveLength(20);
  // The initialize, and four lines of verifies.
  expect(markup).toContain('7 older requests are no longer shown.');
});
