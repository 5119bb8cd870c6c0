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

/** Connections that are left alone for `idle` ms, give or take {@link SPREAD}, and then charged over. */
interface Pause extends KeepAlive {
  idle: number;
}

const CONNECTIONS = 40;
const SPREAD = 15;

/** After how many seconds the service closes, and how long a connection is left alone. */
const [closesAfter, idleFor] = chooseSize([1, [1]], [5, [1, 5, 30, 65]]);

// How many stay unknown depends on the time, so it is printed. socket-closes.test.ts holds that none does needlessly.
test('charges at most once over an idle connection, also while it is being closed', async () => {
  const pauses = idleFor.flatMap((idle) =>
    [true, false].map((hint): Pause => ({ keepAlive: closesAfter * 1_000, hint, idle: idle * 1_000 })),
  );
  const each = pauses.flatMap((pause) => Array.from({ length: CONNECTIONS }, () => pause));
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
  console.log(table(pauses, observed));
  for (const { isUnknown, made } of observed) {
    if (isUnknown) expect(made.length).toBeLessThanOrEqual(1);
    else expect(made.length).toBe(1);
  }
});

async function chargeOnce(client: PaymentsClient, pause: Pause, index: number) {
  await sleep(pause.idle - SPREAD + ((index * 7) % (2 * SPREAD + 1)));
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
