import { expect, test } from 'vitest';
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
