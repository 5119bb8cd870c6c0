/** Customers press, and callers charge under a key of their own: at the same moment too, in any process. */

import type { OrderPressOptions, OrderStatus } from '../../src/orders/index.ts';
import { describe, MINUTE, type Press } from './facts.ts';
import { CALL_LIMIT } from './invariants.ts';
import type { Random } from './random.ts';
import type { Process } from './shop.ts';
import type { World } from './world.ts';

/** What a customer will do. It is planned before the world begins, so that leaving one out changes no other. */
interface PlannedPress extends Pick<Press, 'id' | 'order' | 'startAnother' | 'amount' | 'phone'> {
  readonly at: number;
  /** From 0 to 1. */
  readonly place: number;
  readonly waits: boolean;
  readonly leavesAfter: number;
}

/** Presses come in bursts: what is interesting happens when they meet. */
export function planPresses(random: Random, orders: readonly string[], busyFor: number): PlannedPress[] {
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
        amount: random.chance(0.8) ? '10.00' : random.pick(['12.00', '12.00', '12.00', '1000.00']),
        phone: keepPhone(random, phone, startAnother),
        waits: random.chance(0.4),
        leavesAfter: random.between(0, 4_000),
      });
    }
  }
  return presses;
}

const PHONES = ['0244123456', '0244123456', '0244123457'] as const;

/** A number, or a page. */
const pickPhone = (random: Random) => (random.chance(0.2) ? undefined : random.pick(PHONES));

/** Who wants another payment mostly names another number. */
const keepPhone = (random: Random, phone: Press['phone'], startAnother: boolean) =>
  random.chance(startAnother ? 0.3 : 0.7) ? phone : pickPhone(random);

export function press(world: World, planned: PlannedPress): void {
  const { clock, facts } = world;
  const process = world.pickProcess(planned.place);
  if (!process) return;
  const { order, amount, phone, startAnother, id } = planned;
  const pressed: Press = { ...planned, process, startedAt: clock.now, endedAt: undefined, state: undefined };
  facts.presses.set(id, pressed);
  world.count('happened: press');
  world.say(
    `${process.name}: press ${id} ${amount} ${phone ?? 'page'}${startAnother ? ' startAnother' : ''}`,
  );
  world.do(process, async () => {
    const abort = new AbortController();
    let abortedAt: number | undefined;
    const limits = (what: string, startedAt: number, limit: number) => {
      const now = clock.readAwake(process);
      const isPress = what.startsWith('press');
      const abortedFor = abortedAt === undefined || !isPress ? undefined : now - abortedAt;
      world.judge('ended', { what, awake: now - startedAt, limit, abortedFor, press: pressed });
    };
    if (world.swarm.happens('customer: leaves'))
      clock.deliver(process, planned.leavesAfter, () => {
        abortedAt = clock.readAwake(process);
        abort.abort(new Error('the customer left'));
      });
    const startedAt = clock.readAwake(process);
    const options = { startAnother, signal: abort.signal };
    try {
      const status = await callPress(process, planned, options);
      pressed.state = status.state;
      hear(world, `press ${id}`, status, pressed.startedAt);
    } finally {
      pressed.endedAt = clock.now;
      limits(`press ${id}`, startedAt, CALL_LIMIT);
    }
    if (planned.waits) await wait(world, process, order, limits);
    await read(world, process, order, limits);
  });
}

const callPress = (
  { orders }: Process,
  { order, id, amount, phone }: PlannedPress,
  options: OrderPressOptions,
): Promise<OrderStatus> => {
  const price = { amount, currency: 'GHS', customer_email: `${order}.${id}@example.com` };
  return phone === undefined
    ? orders.checkout(order, price, options)
    : orders.charge(order, { ...price, phone, network: 'mtn' }, options);
};

type Limits = (what: string, startedAt: number, limit: number) => void;

async function wait(world: World, process: Process, order: string, limits: Limits): Promise<void> {
  const { clock } = world;
  const since = clock.now;
  const startedAt = clock.readAwake(process);
  const { frozenFor } = process;
  try {
    hear(world, 'wait', await process.orders.wait(order, { timeout: 90_000 }), since);
  } finally {
    // A process that wakes after the deadline makes one check, within 10 s.
    limits(`wait of ${order}`, startedAt, process.frozenFor === frozenFor ? 92_000 : 103_000);
  }
}

async function read(world: World, process: Process, order: string, limits: Limits): Promise<void> {
  const { clock } = world;
  const since = clock.now;
  const startedAt = clock.readAwake(process);
  try {
    hear(world, 'read', await process.orders.read(order), since);
  } finally {
    limits(`read of ${order}`, startedAt, 16_000);
  }
}

export function hear(world: World, what: string, status: OrderStatus, since: number): void {
  const { order, state } = status;
  const payment = 'payment' in status ? ` ${status.payment.key} ${status.payment.reference ?? '-'}` : '';
  const reason = 'reason' in status ? ` ${status.reason}` : '';
  const error = 'error' in status && status.error ? ` ${describe(status.error)}` : '';
  world.say(`${what} of ${order}: ${state}${payment}${reason}${error}`);
  world.count(`state: ${state}`);
  if (state === 'paid') world.facts.hear(order, status.payment);
  world.judge('status', { status, since, what });
}

/** Calls with an idempotency key of the caller's own. */
export function planKeyCalls(world: World, random: Random, key: string): void {
  const begins = random.between(0, 8 * MINUTE);
  for (let call = random.between(1, 4); call > 0; call--) {
    const at = begins + (random.chance(0.5) ? random.between(0, 50) : random.between(0, 3 * MINUTE));
    const process = random.next();
    if (world.isLeftOut(`${key}-${call}`)) continue;
    world.clock.after(at, () => chargeKey(world, world.pickProcess(process), key));
  }
}

function chargeKey(world: World, process: Process | undefined, key: string): void {
  if (!process) return;
  world.say(`${process.name}: charge under ${key}`);
  world.do(process, async () => {
    const startedAt = world.clock.readAwake(process);
    const input = { amount: '10.00', customer_email: `${key}.${key}@example.com`, network: 'mtn' } as const;
    try {
      const result = await process.payments.chargeMobileMoney(
        { ...input, phone: '0244123456' },
        { idempotencyKey: key },
      );
      world.say(`${process.name}: ${key} is ${result.reference}${result.replayed ? ', replayed' : ''}`);
      world.count(result.replayed ? 'key: replayed' : 'key: charged');
    } finally {
      const awake = world.clock.readAwake(process) - startedAt;
      world.judge('ended', { what: `charge under ${key}`, awake, limit: CALL_LIMIT });
    }
  });
}
