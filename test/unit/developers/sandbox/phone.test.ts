import { expect, test } from 'vitest';
import { charge, findEvent, receiveEvents, startTestSandbox } from './start-sandbox.ts';

/** The messages of a phone page or event about charges that have ended. */
const readMessages = (markup: string) => {
  const [, list = ''] = /<section id="messages"[^>]*>([\s\S]*?)<\/section>/.exec(markup) ?? [];
  return [...list.matchAll(/<li class="line">([\s\S]*?)<\/li>/g)].map(([, item = '']) =>
    item
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .replace(/ \d\d:\d\d:\d\d/, '')
      .trim(),
  );
};

/** The prompts of a page, from the top down, with whether each has ended. */
const readPrompts = (markup: string) =>
  [...markup.matchAll(/<li id="(TXN-\w+)" class="prompt( ended)?/g)].map(([, id, ended]) => [id, !!ended]);

const other = { phone: '020 765 4321', network: 'telecel' } as const;

/** Starts a sandbox whose charges have the amounts 1.00, 2.00 and so on. */
async function startPhone(...args: Parameters<typeof startTestSandbox>) {
  const started = await startTestSandbox(...args);
  const references: string[] = [];
  const ring = async (more = {}) => {
    const amount = `${references.length + 1}.00`;
    const { reference } = await started.payments.chargeMobileMoney({ ...charge, amount, ...more });
    references.push(reference);
    return reference;
  };
  const answer = (reference: string, decision: string, more = {}) =>
    started.press('/phone', { reference, decision, ...more });
  return { ...started, references, ring, answer };
}

test('shows a prompt that any four digits approve, and no PIN declines', async () => {
  const { payments, page, ring, answer } = await startPhone();
  const approved = await ring(other);
  const markup = await page('/phone');
  for (const text of ['Telecel Cash', 'GHS 1.00', other.phone, approved]) expect(markup).toContain(text);
  const wrong = await answer(approved, 'approve', { pin: '123' });
  expect([wrong.status, await wrong.text()]).toEqual([
    400,
    expect.stringContaining('A PIN has four digits.'),
  ]);
  await expect(payments.verify(approved)).resolves.toMatchObject({ status: 'pending' });
  const right = await answer(approved, 'approve', { pin: '0000' });
  expect(right.headers.get('location')).toBe('/phone');
  const declined = await ring();
  await answer(declined, 'decline');
  // What has ended stays as it is.
  await answer(declined, 'approve', { pin: '1234' });
  await expect(payments.verify(approved)).resolves.toMatchObject({ status: 'success' });
  await expect(payments.verify(declined)).resolves.toMatchObject({ status: 'failed' });
  expect((await answer(declined, 'hang up')).status).toBe(400);
});

test('distinguishes expired, declined and approved charges', async () => {
  const { sandbox, page, ring, answer } = await startPhone({ promptExpiry: 60_000 });
  const events = receiveEvents(`${sandbox.url}/events/phone`);
  const expired = await ring();
  await findEvent(events, expired);
  sandbox.advance(60_000);
  const event = await findEvent(events, 'Expired');
  expect(event).toContain(`<li id="${expired}" class="prompt ended`);
  expect(event).not.toContain('name="pin"');
  await answer(await ring(), 'decline');
  sandbox.advance(1_000);
  await answer(await ring(), 'approve', { pin: '1234' });
  const messages = ['success GHS 3.00', 'failed: declined GHS 2.00', 'failed: expired GHS 1.00'];
  expect(readMessages(await page('/phone'))).toEqual(messages);
  expect(await page('/phone')).toContain('No open prompt.');
  const fresh = await findEvent(receiveEvents(`${sandbox.url}/events/phone`), 'messages');
  expect(readMessages(fresh.replaceAll('data: ', ''))).toEqual(messages);
});

test('leaves a prompt that was answered in its place until Done', async () => {
  const { sandbox, page, ring, answer } = await startPhone();
  const [first, second, third] = [await ring(), await ring(), await ring()];
  const since = String(Date.now());
  const events = receiveEvents(`${sandbox.url}/events/phone?number=244123456`);
  await findEvent(events, first);
  const answered = await answer(first, 'approve', { pin: '1234', since });
  expect(answered.headers.get('location')).toBe(`/phone?since=${since}`);
  const event = await findEvent(events, 'Approved');
  expect(event).toContain(`<li id="${first}" class="prompt ended mtn" data-keep>`);
  expect(readPrompts(event)).toEqual([
    [first, true],
    [second, false],
    [third, false],
  ]);
  sandbox.decline(second);
  const markup = await page(`/phone?since=${since}`);
  expect(readPrompts(markup)).toEqual([
    [first, true],
    [second, true],
    [third, false],
  ]);
  for (const text of [
    '<strong>Approved</strong> <span class="sum">GHS 1.00',
    '<strong>Declined</strong> <span class="sum">GHS 2.00',
    '<a class="action" href="/phone">Done</a>',
  ])
    expect(markup).toContain(text);
  expect(readPrompts(await page('/phone'))).toEqual([[third, false]]);
});
