/** Keys of a shop that are followed. */

import type { PaymentsEvent } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { momo, type Process, SECOND, type World, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';

/** For more requests than a test sends. A sweep that repeats itself without a pause ends, and fails. */
export const always = { times: 1_000 };

/** Fails once so many pages were claimed. A sweep that claims on and on ends, and fails. */
export function limitClaims(limit: number) {
  let claims = 0;
  return wrapStore(memoryStore(), ({ method }, run) =>
    method === 'claimDue' && ++claims > limit ? Promise.reject(new Error('claimed on and on')) : run(),
  );
}

export const never = () => new Promise<never>(() => {});

/** Charges under a key, and returns the reference. */
export async function chargeKey({ payments }: Process, idempotencyKey = 'order-1'): Promise<string> {
  return (await payments.chargeMobileMoney(momo, { idempotencyKey })).reference;
}

/** Charges under a key, loses the response, and returns the reference. */
export async function loseKey({ shop, service }: World, key = 'order-1'): Promise<string> {
  service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await chargeKey(shop, key).catch(() => {});
  return service.charges.at(-1)?.reference ?? '';
}

/** Makes a world whose keys, `order-1` and so on, are paid, and due for their first check. */
export async function openPaid(count = 1, options: Parameters<typeof world>[0] = {}): Promise<World> {
  const made = world(options);
  for (let order = 1; order <= count; order++)
    made.service.approve(await chargeKey(made.shop, `order-${order}`));
  await made.clock.pass(8 * SECOND);
  return made;
}

export const findFollowUps = (events: readonly PaymentsEvent[]) =>
  events.filter((event) => event.type === 'follow_up');

/** Returns the times between calls or checks, in seconds. */
export const toPauses = (calls: readonly { readonly at: number }[]) =>
  calls.slice(1).map(({ at }, index) => Math.round((at - (calls[index]?.at ?? 0)) / SECOND));
