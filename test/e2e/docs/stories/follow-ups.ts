import { expect, vi } from 'vitest';
import { accepted, endsAfterStep, inDoubt, type Stories } from '../story.ts';

export const followUps: Stories = {
  'docs/guides/follow-ups.md, Sweep from cron': [{ ...accepted, printed: ['0 0 0'] }],
  'docs/guides/follow-ups.md, Run in a process': [
    endsAfterStep({
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      actions: ['fulfil order-17'],
      charges: 1,
    }),
    endsAfterStep({
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      actions: ['release order-17'],
      charges: 1,
    }),
    endsAfterStep({
      ...inDoubt,
      actions: ['holdForReview order-17 Error'],
      printed: ["'unknown'"],
    }),
  ],
  'docs/guides/follow-ups.md, Take the webhook': [
    {
      where: 'a webhook comes in',
      arrange: ({ names }) => void vi.spyOn(names.followUps, 'notify'),
      async afterwards({ names, post, actions }) {
        post('/webhooks/payments', { data: { reference: names.reference } });
        expect(names.followUps.notify).toHaveBeenCalledExactlyOnceWith(names.reference);
        await vi.waitFor(() => expect(actions).toHaveLength(1));
      },
      actions: ['respond 204'],
    },
    {
      where: 'a webhook comes in that says nothing',
      async afterwards({ post, actions }) {
        post('/webhooks/payments', {});
        await vi.waitFor(() => expect(actions).toHaveLength(1));
      },
      actions: ['respond 204'],
    },
  ],
};
