import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OutcomeUnknownError, type PaymentsClient } from '../../../src/index.ts';
import {
  type KeepAlive,
  type RecordedCharge,
  startKeepAliveServices,
} from '../../helpers/keep-alive-service.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { charge } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';

/** So many connections are opened, left alone for `idle` ms, give or take `spread`, and then charged over. */
interface Pause extends KeepAlive {
  idle: number;
  spread: number;
  connections: number;
}

const hints = [true, false];

/** After how many seconds the service closes, and how long a connection is left alone. */
const [closesAfter, idleFor] = chooseSize([2, [0.5, 6]], [5, [1, 5, 30, 65]]);
const seconds = new Intl.ListFormat('en', { type: 'disjunction' }).format(idleFor.map(String));

test.concurrent(`loses no charge after ${seconds} s idle if closed after ${closesAfter} s`, {
  timeout: 100_000,
}, async () => {
  const keepAlive = closesAfter * 1_000;
  const pauses = idleFor.flatMap((idle) =>
    hints.map((hint): Pause => ({ keepAlive, hint, idle: idle * 1_000, spread: 40, connections: 12 })),
  );
  const unknown = await chargeAfter(pauses);
  // No client can promise it for a request sent at the time of the close.
  expect(unknown.filter(({ idle }) => idle !== keepAlive)).toEqual([]);
});

test.concurrent('charges at most once when its idle connection is being closed', {
  timeout: 30_000,
}, async () => {
  const pauses = hints.map(
    (hint): Pause => ({ keepAlive: 1_500, hint, idle: 1_500, spread: 15, connections: 80 }),
  );
  const unknown = await chargeAfter(pauses);
  // With the hint, fetch does not use the connection again.
  expect(unknown.filter(({ hint }) => hint)).toEqual([]);
});

/** Prints what became of the charges, and gives the pauses after which an outcome stayed unknown. */
async function chargeAfter(pauses: Pause[]): Promise<Pause[]> {
  const each = pauses.flatMap((pause) => Array.from({ length: pause.connections }, () => pause));
  const services = await startKeepAliveServices(each);
  const calls: ReturnType<typeof chargeOnce>[] = [];
  for (const [index, pause] of each.entries()) {
    const client = createClientFor(services.baseUrls[index] ?? '')({ maxRetries: 2 });
    // One after the other, so that each pause begins for both sides at nearly the same time.
    await client.verify('TXN-8f2c61d0');
    calls.push(chargeOnce(client, pause, index));
  }
  const ended = await Promise.all(calls);
  const charged = await services.charged();
  await services.stop();

  const observed = ended.map((call) => ({
    ...call,
    made: charged.filter(({ order }) => order === call.order),
  }));
  for (const { isUnknown, made } of observed) {
    if (isUnknown) expect(made.length).toBeLessThanOrEqual(1);
    else expect(made.length).toBe(1);
  }
  console.log(table(pauses, observed));
  return observed.filter(({ isUnknown }) => isUnknown).map(({ pause }) => pause);
}

async function chargeOnce(client: PaymentsClient, pause: Pause, index: number) {
  const { idle, spread } = pause;
  await sleep(idle - spread + ((index * 7) % (2 * spread + 1)));
  const order = `order ${index}`;
  const call = client.chargeMobileMoney(charge, { extraBody: { order } });
  const ended = await call.catch((error: unknown) => error);
  const isUnknown = ended instanceof OutcomeUnknownError;
  if (!isUnknown) expect(ended).not.toBeInstanceOf(Error);
  return { pause, order, isUnknown };
}

const columns = ['open connection', 'new connection', 'unknown, made', 'unknown, not made'];

interface ObservedCall {
  pause: Pause;
  isUnknown: boolean;
  made: RecordedCharge[];
}

function columnOf({ isUnknown, made: [charged] }: ObservedCall): string | undefined {
  if (isUnknown) return charged ? columns[2] : columns[3];
  return charged?.onOpenConnection ? columns[0] : columns[1];
}

function table(pauses: Pause[], observed: ObservedCall[]): string {
  const rows = pauses.map((pause) => {
    const found = observed.filter((call) => call.pause === pause).map(columnOf);
    const counts = columns.map((column) => found.filter((name) => name === column).length);
    const { keepAlive, hint, idle } = pause;
    return [
      `${idle / 1000} s idle, closed at ${keepAlive / 1000} s, ${hint ? 'announced' : 'unannounced'}`,
      ...counts,
    ];
  });
  return [['', ...columns], ...rows]
    .map(([title, ...cells]) => `${title}`.padEnd(42) + cells.map((cell) => `${cell}`.padStart(19)).join(''))
    .join('\n');
}
