import type { Stories } from '../story.ts';

export const sandbox: Stories = {
  'docs/guides/sandbox.md, Run the sandbox': [
    {
      where: 'the customer types the PIN after 20 seconds',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: ["'success'"],
      charges: 1,
    },
  ],
};
