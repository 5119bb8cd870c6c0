/** Customers press, and callers charge under a key of their own: at the same moment too, in any process. */

import type { Transaction } from '../../src/index.ts';
import type { OrderStatus } from '../../src/orders/index.ts';
import { MINUTE, SECOND } from './clock.ts';
import { describe, type Press, REQUEST_TIMEOUT } from './facts.ts';
import { CALL_LIMIT } from './invariants.ts';
import type { Random } from './random.ts';
import type { Process } from './shop.ts';
import type { World } from './world.ts';

/** What a customer will do. It is planned before the world begins, so that leaving one out changes no other. */
interface PlannedPress
  extends Pick<Press, 'id' | 'order' | 'startAnother' | 'amount' | 'currency' | 'phone'> {
  readonly at: number;
  /** From 0 to 1. */
  readonly place: number;
  readonly waits: boolean;
  readonly leavesAfter: number;
}

const PHONES = ['0244123456', '0244123456', '0244123457'] as const;

/** How a number can begin. */
const PREFIXES = ['0', '0', '+233', '00233 '];

const CURRENCIES = [...Array<string>(19).fill('GHS'), 'USD'];

const AMOUNTS = [...Array<string>(17).fill('10.00'), '12.00', '12.00', '12.00', '1000.00'];

/** A number, or a page. */
const pickPhone = (random: Random) => (random.chance(0.2) ? undefined : random.pick(PHONES));

export const planPresses = (random: Random, orders: readonly string[], busyFor: number): PlannedPress[] => [
  ...planBursts(random, orders, busyFor),
  ...planKeyCalls(random),
];

/** Presses come in bursts: what is interesting happens when they meet. */
function planBursts(random: Random, orders: readonly string[], busyFor: number): PlannedPress[] {
  const presses: PlannedPress[] = [];
  for (let burst = random.between(2, 7); burst > 0; burst--) {
    const begins = random.between(0, busyFor * 0.8);
    const within = random.pick([0, 5, 50, 500, 5_000, 30_000]);
    const phone = pickPhone(random);
    const order = random.pick(orders);
    for (let size = random.pick([1, 2, 2, 3, 4]); size > 0; size--) {
      const startAnother = random.chance(0.5);
      const own = random.chance(0.6) ? order : random.pick(orders);
      presses.push({
        id: `${own}-${presses.length + 1}`,
        at: begins + random.between(0, within),
        order: own,
        place: random.next(),
        startAnother,
        amount: random.pick(AMOUNTS),
        currency: random.pick(CURRENCIES),
        // Who wants another payment mostly names another number.
        phone: random.chance(startAnother ? 0.3 : 0.7) ? phone : pickPhone(random),
        waits: random.chance(0.4),
        leavesAfter: random.between(0, 4_000),
      });
    }
  }
  return presses;
}

/** The key of a caller's own. */
const KEY = 'k1';

function planKeyCalls(random: Random): PlannedPress[] {
  const begins = random.between(0, 8 * MINUTE);
  return Array.from({ length: random.between(1, 4) }, (_, index) => ({
    id: `${KEY}-${index + 1}`,
    at: begins + (random.chance(0.5) ? random.between(0, 50) : random.between(0, 3 * MINUTE)),
    order: KEY,
    place: random.next(),
    startAnother: false,
    amount: random.chance(0.2) ? '12.00' : '10.00',
    currency: 'GHS',
    phone: PHONES[0],
    waits: false,
    leavesAfter: 0,
  }));
}

/** A handler presses again, for what the customer ordered. */
export function pressAgain(world: World, process: Process, order: string): Promise<unknown> | undefined {
  const again = { amount: '10.00', currency: 'GHS', phone: undefined, startAnother: false, waits: false };
  const id = `${order}-again${world.facts.presses.size + 1}`;
  return press(world, { ...again, id, order, at: 0, place: 0, leavesAfter: 0 }, process);
}

export function press(
  world: World,
  planned: PlannedPress,
  process = world.pickProcess(planned.place),
): Promise<unknown> | undefined {
  const { clock, facts } = world;
  if (!process) return undefined;
  const { id, order, amount, currency, phone, startAnother } = planned;
  const begun = { process, startedAt: clock.now, endedAt: undefined, state: undefined, hasConnected: false };
  const pressed: Press = { ...planned, ...begun };
  facts.presses.set(id, pressed);
  world.count('happened: press');
  world.say(
    `${process.name}: press ${id} ${amount} ${currency} ${phone ?? 'page'}${startAnother ? ' startAnother' : ''}`,
  );
  // A press without a signal ends by the client's own.
  const isWatched = order !== KEY && world.swarm.happens('customer: leaves');
  const abort = isWatched ? new AbortController() : undefined;
  let abortedAt = Number.POSITIVE_INFINITY;
  if (abort)
    clock.deliver(process, planned.leavesAfter, () => {
      abortedAt = clock.readAwake(process);
      abort.abort(new Error('the customer left'));
    });
  const limit = async (
    call: string,
    limits: { limit: number; ifFrozen?: number },
    act: () => Promise<void>,
  ) => {
    const startedAt = clock.readAwake(process);
    const { frozenFor } = process;
    await act().finally(() => {
      if (call === 'press') pressed.endedAt = clock.now;
      const now = clock.readAwake(process);
      const { limit, ifFrozen = limit } = limits;
      world.judge('ended', {
        what: `${call} ${id}`,
        awake: now - startedAt,
        limit: process.frozenFor === frozenFor ? limit : ifFrozen,
        abortedFor: call === 'press' ? now - abortedAt : 0,
        press: pressed,
      });
    });
  };
  const { orders } = process;
  return world.do(process, async () => {
    await limit('press', { limit: CALL_LIMIT }, () => callShop(world, pressed, process, abort?.signal));
    if (order === KEY) return;
    if (planned.waits)
      // The API key can be late. A process that wakes after the deadline makes one check, within 10 s.
      await limit(
        'wait',
        { limit: 92 * SECOND + REQUEST_TIMEOUT, ifFrozen: 103 * SECOND + REQUEST_TIMEOUT },
        async () => hear(world, 'wait', clock.now, await orders.wait(order, { timeout: 90 * SECOND })),
      );
    await limit('read', { limit: 16 * SECOND + REQUEST_TIMEOUT }, async () =>
      hear(world, 'read', clock.now, await orders.read(order)),
    );
  });
}

async function callShop(
  world: World,
  press: Press,
  process: Process,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { order, id, amount, currency, phone, startAnother } = press;
  const { random } = world;
  if (order === KEY) return await chargeKey(world, process, press);
  // As a form, a database or a router gives them.
  const spelled = {
    amount: random.pick([amount, Number(amount)]),
    currency: random.pick([currency, currency.toLowerCase()]),
  };
  const price = { ...spelled, customer_email: `${order}.${id}@example.com` };
  const own = random.pick([
    {},
    {},
    { timeout: 3_000 },
    { maxRetries: 0, headers: { 'X-Request-Id': `${id}-${world.clock.createId()}` } },
  ]);
  const options = { startAnother, ...own, ...(signal && { signal }) };
  const pressing =
    phone === undefined
      ? process.orders.checkout(order, price, options)
      : process.orders.charge(
          order,
          { ...price, phone: random.pick(PREFIXES) + phone.slice(1), network: 'mtn' },
          options,
        );
  const status = await pressing;
  press.state = status.state;
  hear(world, `press ${id}`, press.startedAt, status);
}

async function chargeKey(world: World, { name, payments }: Process, { amount, phone = '' }: Press) {
  const input = { amount, phone, customer_email: `${KEY}.${KEY}@example.com`, network: 'mtn' } as const;
  const { reference, replayed } = await payments.chargeMobileMoney(input, { idempotencyKey: KEY });
  world.say(`${name}: ${KEY} is ${reference}${replayed ? ', replayed' : ''}`);
  world.count(replayed ? 'key: replayed' : 'key: charged');
}

/** A page or a job of the shop asks about a transaction beside its order: they share polls, and each has its own expectation. */
export async function askBeside(world: World, { payments }: Process): Promise<void> {
  const { random, service } = world;
  if (service.charges.length === 0) return;
  const { reference, asked, currency } = random.pick(service.charges);
  const expect = { amount: random.pick([asked, '7.00']), currency };
  const wait = { expect, timeout: random.between(1, MINUTE) };
  const calls: (() => Promise<Transaction | undefined>)[] = [
    () => payments.verify(reference, { expect }),
    () => payments.waitForFinalStatus(reference, wait),
    async () => (await payments.reconcile([{ reference, expect }]).next()).value?.transaction,
    async () => {
      let last: Transaction | undefined;
      for await (last of payments.watch(reference, wait));
      return last;
    },
  ];
  const transaction = await random.pick(calls)();
  if (transaction) world.judge('told', { reference, expect, transaction });
}

/** A call returned how far an order is. `since`: when the call began. */
export function hear(world: World, what: string, since: number, status: OrderStatus): void {
  const { order, state } = status;
  const payment = 'payment' in status ? ` ${status.payment.key} ${status.payment.reference ?? '-'}` : '';
  const reason = 'reason' in status ? ` ${status.reason}` : '';
  const error = 'error' in status && status.error ? ` ${describe(status.error)}` : '';
  world.say(`${what} of ${order}: ${state}${payment}${reason}${error}`);
  world.count(`state: ${state}`);
  if (state === 'paid') world.facts.hearPaid(order, status.payment.reference ?? '', world.clock.now);
  world.judge('status', { status, since, what });
}
