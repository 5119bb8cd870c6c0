import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { PaymentsClient } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { charge, failureOf } from '../support/service.ts';

/** A service that refuses the charge and repeats what it was sent. */
function clientThatIsRefused(apiKey: string, status = 422) {
  return new PaymentsClient({
    apiKey,
    baseUrl: 'https://payments.example',
    maxRetries: 0,
    journal: memoryJournal(),
    fetch: async (_, { headers, body }) =>
      Response.json(
        { message: `refused: ${headers.authorization} ${JSON.parse(body ?? '{}').phone}` },
        { status },
      ),
  });
}

const KEY = 'sk_test_4vK9qLm2Xw7RtZ';

// A form that is open to everyone takes any text, and no pattern can be made of the longest.
test.each([
  ['many digits', '1'.repeat(100_000)],
  ['many dashes', `${'-'.repeat(100_000)}0244123456`],
  ['many ampersands', `${'&<">'.repeat(25_000)}0244123456`],
  ['half characters', `${'\ud800'.repeat(1_000)}0244123456`],
])('a phone number of %s is an answer of the service like another, and is not shown', async (_, phone) => {
  const client = clientThatIsRefused(KEY);
  for (const options of [{}, { idempotencyKey: 'order-17' }]) {
    const failure = await failureOf(client.chargeMobileMoney({ ...charge, phone }, options));
    expect(failure).toMatchObject({ name: 'InvalidRequestError', outcome: 'rejected' });
    expect(inspect(failure, { depth: 9, maxStringLength: null })).not.toContain(phone.slice(-20));
  }
});

test.each([
  ['characters', 'sk_test_'.padEnd(20_000, 'k9')],
  ['signs', 'sk_test_'.padEnd(20_000, '-._~+/=&"<')],
])('a key of many %s is in no error', async (_, apiKey) => {
  for (const status of [401, 503]) {
    const failure = await failureOf(clientThatIsRefused(apiKey, status).chargeMobileMoney(charge));
    expect(failure).toMatchObject({ outcome: status === 401 ? 'rejected' : 'unknown' });
    expect(inspect(failure, { depth: 9, maxStringLength: null })).not.toContain(apiKey.slice(8, 28));
  }
});
