import { expect } from 'vitest';
import type { Stories } from '../story.ts';

export const events: Stories = {
  'docs/reference/events.md, Events and log lines': [
    {
      where: 'the service responds',
      printed: [
        expect.stringMatching(/^'payments: verify TXN-000001, attempt 1: sending, request id [\da-f-]{36}'$/),
        expect.stringMatching(
          /^'payments: verify TXN-000001, attempt 1: response 200 after \d+ ms, request id /,
        ),
        "[ [ 'request', 1 ], [ 'response', 1 ] ]",
      ],
    },
  ],
};
