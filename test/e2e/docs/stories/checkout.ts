import { expect, vi } from 'vitest';
import type { Scene } from '../prelude.ts';
import type { Stories } from '../story.ts';

/** Asks the server of the page to end, once it listens. Its port is free. `checkout-server.test.ts` sends it requests. */
function endWhenReady(scene: Scene): void {
  vi.stubEnv('PORT', '0');
  const own = new Set(process.listeners('SIGTERM'));
  scene.onPrint = () => {
    for (const listener of process.listeners('SIGTERM')) if (!own.has(listener)) listener('SIGTERM');
  };
}

export const checkout: Stories = {
  'docs/guides/checkout.md, Take payments by checkout page': [
    {
      where: 'the customer has paid at once',
      arrange: ({ mock }) => void mock.settleAfter('next', 0, 'success'),
      printed: [expect.stringMatching(/^'store TXN-\S+, redirect to https?:\S+'$/), "'deliver order 17'"],
      charges: 0,
    },
    { where: 'the customer has not paid', printed: [expect.stringMatching(/^'store TXN-/)] },
  ],
  'docs/guides/checkout.md, Run a complete server (2)': [
    { where: 'it is ended', arrange: endWhenReady, printed: ["'the shop is ready'"] },
  ],
};
