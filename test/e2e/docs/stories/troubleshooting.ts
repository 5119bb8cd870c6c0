import { expect } from 'vitest';
import type { Stories } from '../story.ts';

export const troubleshooting: Stories = {
  'docs/troubleshooting.md, Troubleshooting': [
    {
      where: 'the service rejects the key',
      arrange: ({ mock }) => mock.fault('verify', { kind: 'status', status: 401 }),
      printed: [
        expect.stringMatching(/^\{ code: 'authentication_error', operation: 'verify', .* retryable: false/s),
      ],
    },
  ],
};
