import { expect } from 'vitest';
import type { Stories } from '../story.ts';

const PATH = 'docs/guides/going-live.md';

export const goingLive: Stories = {
  [`${PATH}, Make the first charge`]: [
    {
      where: 'you approve it',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: [
        expect.stringMatching(/^'approve TXN-\w+ on your phone'$/),
        expect.stringMatching(/^success 1\.00 \d{4}-/),
      ],
      charges: 1,
    },
    {
      where: 'you decline it',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: [expect.stringMatching(/^'approve TXN-/), 'failed 1.00 null'],
      charges: 1,
    },
  ],
};
