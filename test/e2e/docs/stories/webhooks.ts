import { expect, vi } from 'vitest';
import type { Stories } from '../story.ts';

export const webhooks: Stories = {
  'docs/guides/webhooks.md, Handle webhooks': [
    {
      where: 'a webhook comes in',
      arrange: ({ names }) => void vi.spyOn(names.payments, 'notify'),
      afterwards({ names, post }) {
        post('/webhooks/payments', { data: { reference: names.reference } });
        expect(names.payments.notify).toHaveBeenCalledExactlyOnceWith(names.reference);
      },
      actions: ['respond 204'],
    },
    {
      where: 'a webhook comes in that says nothing',
      afterwards: ({ post }) => post('/webhooks/payments', {}),
      actions: ['respond 204'],
    },
  ],
};
