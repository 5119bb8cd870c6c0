import { expect, test } from 'vitest';
import { sleep } from '../../helpers/clock.ts';
import { charged } from '../../helpers/keyed-calls.ts';
import { MINUTE, SECOND, world } from '../../helpers/world.ts';

test('a single check takes no response to a poll that was sent before it', async () => {
  const { shop, clock, service, finals } = world({
    respond: async ({ method }, handle) => {
      const response = await handle();
      if (method === 'GET') await sleep(2 * SECOND);
      return response;
    },
  });
  const { reference } = await charged(shop.payments);
  await clock.pass(MINUTE);
  const waiting = shop.payments.waitForFinalStatus(reference);
  await clock.pass(SECOND);
  service.approve(reference);
  await shop.followUps.sweep();
  expect(finals).toMatchObject([{ status: 'success' }]);
  expect(await waiting).toMatchObject({ status: 'success' });
});
