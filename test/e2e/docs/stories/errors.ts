import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { expect } from 'vitest';
import { busy, losesResponse, refuses, type Stories } from '../story.ts';

export const errors: Stories = {
  'docs/reference/errors.md, Errors': [
    { where: 'the charge is accepted', printed: [], charges: 1 },
    {
      ...refuses,
      printed: [
        expect.stringMatching(/^invalid_request correct [\da-f-]{36}$/),
        "'17: ask for another number'",
      ],
      charges: 0,
    },
    {
      where: 'the API key is wrong',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', { kind: 'status', status: 401 }),
      printed: [
        expect.stringMatching(/^authentication_error correct [\da-f-]{36}$/),
        "'17: a developer reads the log'",
      ],
      charges: 0,
    },
    {
      where: 'the service is busy for a minute',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', busy),
      printed: [
        expect.stringMatching(/^rate_limited retry [\da-f-]{36}$/),
        "'17: charge again in a minute, under the same key'",
      ],
      charges: 0,
    },
    {
      where: 'the key was used for another amount',
      async arrange({ names }) {
        using database = new DatabaseSync('payments.db');
        const payments = new PaymentsClient({ journal: sqliteJournal(database) });
        await payments.chargeMobileMoney(
          { ...names.charge, amount: '9.00' },
          { idempotencyKey: 'order-17/1' },
        );
      },
      printed: [expect.stringMatching(/^idempotency_conflict check /), "'17: an earlier charge decides'"],
      charges: 1,
    },
    {
      ...losesResponse,
      printed: [
        expect.stringMatching(/^outcome_unknown review [\da-f-]{36}$/),
        "'17: a person looks for the charge'",
      ],
      charges: 1,
    },
  ],
};
