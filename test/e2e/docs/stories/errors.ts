import { expect } from 'vitest';
import { busy, lost, refused, type Stories } from '../story.ts';

export const errors: Stories = {
  'docs/reference/errors.md, Errors': [
    { where: 'the charge is accepted', printed: [], charges: 1 },
    {
      where: 'the service refuses the charge',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', refused),
      printed: [
        expect.stringMatching(/^invalid_request rejected [\da-f-]{36}$/),
        "'17: ask for another number'",
      ],
      charges: 0,
    },
    {
      where: 'the API key is wrong',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', { kind: 'status', status: 401 }),
      printed: [
        expect.stringMatching(/^authentication_error rejected [\da-f-]{36}$/),
        "'17: a developer reads the log'",
      ],
      charges: 0,
    },
    {
      where: 'the service is busy for a minute',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', busy),
      printed: [
        expect.stringMatching(/^rate_limited rejected [\da-f-]{36}$/),
        "'17: charge again in a minute, under the same key'",
      ],
      charges: 0,
    },
    {
      where: 'the service rejects the key',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', { kind: 'status', status: 401 }),
      printed: [
        expect.stringMatching(/^authentication_error rejected [\da-f-]{36}$/),
        "'17: a developer reads the log'",
      ],
      charges: 0,
    },
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      printed: [
        expect.stringMatching(/^outcome_unknown unknown [\da-f-]{36}$/),
        "'17: a person looks for the charge'",
      ],
      charges: 1,
    },
  ],
};
