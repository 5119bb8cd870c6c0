import { expect, vi } from 'vitest';
import type { Scene } from '../prelude.ts';
import type { Stories } from '../story.ts';

const postNothing = (body: string | object) => ({
  where: `a webhook comes in that says nothing: ${JSON.stringify(body)}`,
  async afterwards({ post, actions }: Scene) {
    post('/webhooks/payments', body);
    await vi.waitFor(() => expect(actions).toHaveLength(1));
  },
  actions: ['respond 204'],
});
const saysNothing = ['', '{}', 'TXN-', {}].map(postNothing);

export const webhooks: Stories = {
  'docs/guides/webhooks.md, Handle webhooks': [
    {
      where: 'a webhook comes in',
      arrange: ({ names }) => void vi.spyOn(names.orderPayments, 'notify'),
      afterwards({ names, post }) {
        const body = { any: [{ field: names.reference }, names.reference] };
        post('/webhooks/payments', body);
        expect(names.orderPayments.notify).toHaveBeenCalledExactlyOnceWith(body);
      },
      actions: ['respond 204'],
    },
    ...saysNothing,
  ],

  'docs/guides/webhooks.md, Use a framework with `Request` and `Response`': [
    {
      where: 'a webhook comes in',
      arrange: ({ names }) => void vi.spyOn(names.payments, 'notify'),
      afterwards({ names }) {
        expect(names.payments.notify).toHaveBeenCalledExactlyOnceWith(
          JSON.stringify({ data: { reference: names.reference } }),
        );
      },
    },
  ],
};
