import { expect } from 'vitest';
import type { Stories } from '../story.ts';

const PATH = 'docs/guides/going-live.md';

export const goingLive: Stories = {
  [`${PATH}, Make the first charge`]: [
    {
      where: 'you have not approved it yet',
      printed: expect.arrayContaining([expect.stringMatching(/^TXN-\w+ pending 1\.00 null$/)]),
      charges: 1,
    },
    {
      where: 'you have approved it',
      arrange: ({ mock }) => mock.settleAfter('next', 0, 'success'),
      printed: expect.arrayContaining([expect.stringMatching(/^TXN-\w+ success 1\.00 \d{4}-/)]),
      charges: 1,
    },
  ],
};
