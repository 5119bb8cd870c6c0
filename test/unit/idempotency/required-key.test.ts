import { describe, expect, test } from 'vitest';
import { ConfigurationError, type CreateOptions } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { catchError, charge, payment, startService } from '../../helpers/service.ts';

/** As JavaScript, or a type without exactOptionalPropertyTypes, gives them. */
const undefinedKey = (): CreateOptions => Object.fromEntries([['idempotencyKey', undefined]]);

const missing: [string, CreateOptions?][] = [
  ['no options'],
  ['an undefined key', undefinedKey()],
  ['an undefined key beside other options', { ...undefinedKey(), timeout: 5_000 }],
  ['other options only', { timeout: 5_000 }],
];

describe('a client with a journal', () => {
  test.each(missing)('refuses a charge with %s, and sends nothing', async (_what, options) => {
    const service = await startService();
    const shared = sharedStore();
    const client = service.client({ journal: shared.journal() });
    // A queue retries a failed job.
    for (let attempts = 0; attempts < 3; attempts++) {
      const failure = await catchError(client.chargeMobileMoney(charge, options));
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(failure).toMatchObject({
        operation: 'chargeMobileMoney',
        outcome: 'not_sent',
        retryable: false,
      });
      expect(String(failure)).toMatch(/idempotencyKey.+Nothing was sent.+or null/);
      expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    }
    expect([...shared.writes, ...service.requests]).toEqual([]);
  });

  test('refuses an undefined key of a payment by page', async () => {
    const service = await startService();
    const client = service.client({ journal: memoryJournal() });
    const failure = await catchError(client.initialize(payment, undefinedKey()));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation: 'initialize', outcome: 'not_sent' });
    expect(service.requests).toEqual([]);
  });
});

describe('a client without a journal', () => {
  test('refuses an undefined key: the caller meant to have one', async () => {
    const service = await startService();
    const client = service.client();
    const charging = client.chargeMobileMoney(charge, undefinedKey());
    expect(await catchError(charging)).toBeInstanceOf(ConfigurationError);
    const starting = client.initialize(payment, undefinedKey());
    expect(await catchError(starting)).toBeInstanceOf(ConfigurationError);
    expect(service.requests).toEqual([]);
  });
});
