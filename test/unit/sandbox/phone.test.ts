import { expect, onTestFinished, test, vi } from 'vitest';
import { charge, findEvent, receiveEvents, startTestSandbox } from './start-sandbox.ts';

/** The messages of a phone page or event about charges that have ended. */
const readMessages = (markup: string) => {
  const [, list = ''] = /<section id="messages">([\s\S]*?)<\/section>/.exec(markup) ?? [];
  return [...list.matchAll(/<li>([\s\S]*?)<\/li>/g)].map(([, item = '']) =>
    item
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .replace(/ \d\d:\d\d:\d\d/, '')
      .trim(),
  );
};

test('the phone distinguishes expired, declined and approved charges', async () => {
  const { sandbox, payments, page, press } = await startTestSandbox({ promptExpiry: 60_000 });
  await payments.chargeMobileMoney({ ...charge, amount: '1.00' });
  sandbox.advance(60_000);
  const declined = await payments.chargeMobileMoney({ ...charge, amount: '2.00' });
  await press('/phone', { reference: declined.reference, decision: 'decline' });
  sandbox.advance(1_000);
  const approved = await payments.chargeMobileMoney({ ...charge, amount: '3.00' });
  await press('/phone', { reference: approved.reference, decision: 'approve', pin: '1234' });

  const messages = ['success GHS 3.00', 'failed: declined GHS 2.00', 'failed: expired GHS 1.00'];
  expect(readMessages(await page('/phone'))).toEqual(messages);
  expect(await page('/phone')).toContain('No open prompt.');
  const event = await findEvent(receiveEvents(`${sandbox.url}/events/phone`), 'messages');
  expect(readMessages(event.replaceAll('data: ', ''))).toEqual(messages);
});

test('the phone shows a prompt for the charges of both modes', async () => {
  const { sandbox, client, payments, page } = await startTestSandbox({ allowTestCharges: true });
  const inLive = await payments.chargeMobileMoney(charge);
  const inTest = await client({ apiKey: sandbox.testKey }).chargeMobileMoney(charge);
  const markup = await page('/phone');
  expect(markup).toContain(`${inLive.reference}</code> · live mode`);
  expect(markup).toContain(`${inTest.reference}</code> · test mode`);
  expect(markup).toContain('2 open prompts');
});

const other = { ...charge, phone: '020 765 4321', network: 'telecel' } as const;

test('the phone shows one number at a time, or all', async () => {
  const { payments, page } = await startTestSandbox();
  const first = await payments.chargeMobileMoney(charge);
  expect(await page('/phone')).not.toContain('All phones');
  const again = await payments.chargeMobileMoney({ ...charge, phone: '+233 24 412 3456', amount: '7.00' });
  const second = await payments.chargeMobileMoney(other);
  const all = await page('/phone');
  expect(all).toContain('All phones <b>3</b>');
  expect(all).toContain(`href="/phone?number=207654321">${other.phone} <b>1</b>`);
  const own = await page('/phone?number=244123456');
  for (const { reference } of [first, again]) expect(own).toContain(`<li id="${reference}"`);
  expect(own).not.toContain(`<li id="${second.reference}"`);
  expect(own).toContain('2 open prompts');
});

test('a prompt that was answered stays in its place until Done', async () => {
  const { sandbox, payments, page, press } = await startTestSandbox();
  const references: string[] = [];
  for (const amount of ['1.00', '2.00', '3.00'])
    references.push((await payments.chargeMobileMoney({ ...charge, amount })).reference);
  const [first = '', second = '', third = ''] = references;
  const since = String(Date.now());
  const answered = await press('/phone', { reference: first, decision: 'approve', pin: '1234', since });
  expect(answered.headers.get('location')).toBe(`/phone?since=${since}`);
  sandbox.decline(second);

  const readPrompts = (markup: string) =>
    [...markup.matchAll(/<li id="(TXN-\w+)" class="prompt( ended)?/g)].map(([, id, ended]) => [id, !!ended]);
  const markup = await page(`/phone?since=${since}`);
  expect(readPrompts(markup)).toEqual([
    [first, true],
    [second, true],
    [third, false],
  ]);
  expect(markup).toContain('<strong>Approved</strong> <span class="sum">GHS 1.00');
  expect(markup).toContain('<strong>Declined</strong> <span class="sum">GHS 2.00');
  expect(markup).toContain('<a class="action" href="/phone">Done</a>');
  expect(readPrompts(await page('/phone'))).toEqual([[third, false]]);
});

test('the phone shows the newest prompts, and says that there are more', async () => {
  const { payments, page, press } = await startTestSandbox();
  const references: string[] = [];
  for (let count = 1; count <= 22; count++)
    references.push((await payments.chargeMobileMoney({ ...charge, amount: count })).reference);
  const readPrompts = async () =>
    [...(await page('/phone')).matchAll(/<li id="(TXN-\w+)" class="prompt/g)].map(([, id]) => id);
  expect(await readPrompts()).toEqual(references.slice(2));
  expect(await page('/phone')).toContain(
    '<p id="prompt-count" class="note" role="status">22 open prompts: the newest 20 are here.',
  );
  for (const reference of references.slice(-2)) await press('/phone', { reference, decision: 'decline' });
  expect(await readPrompts()).toEqual(references.slice(0, 20));
  expect(await page('/phone')).toContain(
    '<p id="prompt-count" class="hidden" role="status">20 open prompts</p>',
  );
});

test('an open page of the phone keeps the place of a prompt that ends', async () => {
  const { sandbox, payments } = await startTestSandbox();
  const { reference } = await payments.chargeMobileMoney(charge);
  const events = receiveEvents(`${sandbox.url}/events/phone?number=244123456`);
  await findEvent(events, reference);
  await payments.chargeMobileMoney(other);
  sandbox.approve(reference);
  const event = await findEvent(events, 'Approved');
  expect(event).toContain(`<li id="${reference}" class="prompt ended mtn" data-next="" data-keep>`);
  expect(event).not.toContain('data-gone');
});

test('a time has its date if it is not today', async () => {
  const { sandbox, payments, page } = await startTestSandbox({ promptExpiry: 86_400_000 });
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 10, 23, 12, 30) });
  onTestFinished(() => void vi.useRealTimers());
  await payments.chargeMobileMoney(charge);
  expect(await page('/phone')).toMatch(/until <time [^>]+>24 Nov 2026, 12:30:00</);
  sandbox.settleAfter('next', 60_000, 'success');
  await payments.chargeMobileMoney(other);
  expect(await page('/phone')).toMatch(/until <time [^>]+>12:31:00</);
});
