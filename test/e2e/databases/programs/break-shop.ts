// A process of a shop, started by breaks/shop-process.ts. It does what it is told, and sends which handlers were called.
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentsError } from '../../../../src/index.ts';
import { getRecords } from '../../../../src/journal/core.ts';
import { createJournal, type JournalStore } from '../../../../src/journal/index.ts';
import { createOrderPayments } from '../../../../src/orders/index.ts';
import { note } from '../../../helpers/resolution-note.ts';
import { type actionSchema, type Called, commandSchema, settingsSchema } from '../breaks/messages.ts';
import { loadDatabase } from '../load-database.ts';
import { createClient, EMAIL } from '../shop.ts';

const settings = settingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
process.on('disconnect', () => process.exit(1));
const send = (message: object | string) => process.send?.(message);
const tell = (called: Called) => send(called);

let steps = 0;

/** Wraps each step of a store: the time on the wire lets what other processes do come between two steps. */
function wrapStore(store: JournalStore): JournalStore {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      // Without groups, each write has a fate of its own.
      if (typeof method !== 'function' || (settings.isFaulty && name === 'writeAll')) return undefined;
      return async (...values: unknown[]) => {
        steps += 1;
        try {
          return await takeStep(name, async () => Reflect.apply(method, target, values));
        } finally {
          steps -= 1;
        }
      };
    },
  });
}

async function takeStep(name: string | symbol, run: () => Promise<unknown>): Promise<unknown> {
  await sleep(4 + Math.random() * 3);
  if (!settings.isFaulty) return await run();
  const fate = Math.random();
  if (fate < 0.1) throw new Error('The connection was cut before the step.');
  const result = await run();
  if (fate < 0.25) throw new Error('The connection was cut after the step.');
  if (fate < 0.35 && name === 'write') return await run();
  if (fate < 0.45) await sleep(50);
  return result;
}

const { kind, place, baseUrl, lease } = settings;
const opened = await (await loadDatabase(kind)).open(place, { lease });
const journal = createJournal(wrapStore(getRecords(opened.journal).store), { lease });
const payments = createClient({
  baseUrl,
  journal,
  timeout: 120_000,
  polling: { initialDelay: 100, minDelay: 100, maxDelay: 200 },
  onEvent(event) {
    if (event.type !== 'journal' || event.result !== 'not_recorded') return;
    tell({ called: 'not_recorded', order: event.idempotencyKey, reference: event.reference });
  },
});
const orders = createOrderPayments({
  payments,
  journal,
  onPaid: ({ order, payment: { reference } }) => tell({ called: 'onPaid', order, reference }),
  onUnpaid: ({ order, payment: { reference } }) => tell({ called: 'onUnpaid', order, reference }),
  onAttention: ({ order, reference, reason }) => tell({ called: 'onAttention', order, reference, reason }),
});

type ParsedAction = ReturnType<typeof actionSchema.parse>;

async function act(action: ParsedAction): Promise<unknown> {
  switch (action.do) {
    case 'charge':
    case 'checkout': {
      const { order, amount, phone, startAnother } = action;
      const options = { startAnother, extraBody: { order } };
      const input = { amount, customer_email: EMAIL };
      return action.do === 'checkout'
        ? orders.checkout(order, input, options)
        : orders.charge(order, { ...input, phone, network: 'mtn' }, options);
    }
    case 'read':
      return orders.read(action.order);
    case 'wait':
      return orders.wait(action.order);
    case 'notify':
      return orders.notify({ reference: action.reference });
    case 'resolve':
      return payments.resolve(action.key, action.resolution, note);
    case 'sweep':
      return orders.sweep({ budget: 60_000 });
    case 'prune':
      return journal.prune({ before: Date.now(), unfollowed: action.unfollowed });
    case 'freeze':
      return undefined;
  }
}

/** Stops as a frozen process does, but in no step of the database: one could hold a lock that others wait for. */
function freeze(): void {
  if (steps > 0) setImmediate(freeze);
  else process.kill(process.pid, 'SIGSTOP');
}

process.on('message', async (message) => {
  const { id, action } = commandSchema.parse(message);
  try {
    const result = (await act(action)) ?? null;
    send({ id, result });
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    send({ id, error: error.toJSON() });
  }
  if (action.do === 'freeze') freeze();
});
send('ready');
