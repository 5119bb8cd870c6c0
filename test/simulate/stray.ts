/** A client of another service that was given the journal of this one: it must be refused before anything is checked or written. */

import { ConfigurationError, JournalError } from '../../src/index.ts';
import { startProcess } from './shop.ts';
import type { World } from './world.ts';

export function startStray(world: World, isBusy: () => boolean): void {
  const stray = startProcess(world, 'stray', 'https://other.example/api/v1');
  const price = { amount: '10.00', currency: 'GHS', customer_email: 'o.o@example.com' };
  const momo = { ...price, phone: '0244123456', network: 'mtn' } as const;
  const key = { idempotencyKey: 'k1' };
  const calls = (order: string): Record<string, () => Promise<unknown>> => ({
    charge: () => stray.orders.charge(order, momo),
    'charge with startAnother': () =>
      stray.orders.charge(order, { ...momo, amount: '12.00' }, { startAnother: true }),
    'charge with wrong input': () => stray.orders.charge(order, { ...momo, phone: '' }),
    checkout: () => stray.orders.checkout(order, price),
    wait: () => stray.orders.wait(order, { timeout: 30_000 }),
    read: () => stray.orders.read(order),
    key: () => stray.payments.chargeMobileMoney(momo, key),
  });
  const call = async () => {
    if (world.random.chance(0.2)) await Promise.all([stray.orders.sweep(), stray.followUps.sweep()]);
    const order = world.random.pick(world.orders);
    const [what, ask] = world.random.pick(Object.entries(calls(order)));
    // The first who asks decides whose an order is.
    const isKnown =
      what === 'key' ? await stray.journal.read('k1') : (await stray.journal.read(`${order}/1`)) !== null;
    if (!isKnown) return;
    try {
      const result = await ask();
      world.judge('strayed', { what: `${what} ${order}`, result });
    } catch (error) {
      if (!(error instanceof ConfigurationError || error instanceof JournalError))
        world.judge('strayed', { what: `${what} ${order}`, result: String(error) });
    }
  };
  const again = () => {
    stray.isDead ||= !isBusy();
    if (stray.isDead) return;
    world.do(stray, call);
    world.clock.after(20_000, again);
  };
  world.clock.after(20_000, again);
}
