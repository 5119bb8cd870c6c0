import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { FinalStatus, MockPayments, WebhookDelivery, WebhookFault } from '../../src/testing/index.ts';
import { useFakeClock } from '../helpers/fake-clock.ts';
import { chooseSize } from '../helpers/sized.ts';
import { parseWebhook, type ReceivedWebhook } from '../unit/testing/receive-webhooks.ts';
import { payment, startMock } from '../unit/testing/start-mock.ts';

useFakeClock();

const REFERENCES = 3;
const TIMEOUT = 5_000;
const RETRY_DELAYS = [1_000, 5_000, 25_000, 125_000];
const LATE_DELAYS = [500, 10_000];

const controls = { success: 'approve', failed: 'decline', abandoned: 'abandon' } as const;

const responses = {
  accept: () => undefined,
  refuse: () => new Response('no', { status: 500 }),
  throw: () => {
    throw new Error('broken');
  },
  slow: () => new Promise<void>((resolve) => setTimeout(resolve, 2_000)),
  hang: () => new Promise<never>(() => {}),
};

const reference = fc.nat(REFERENCES - 1);
const status = fc.constantFrom<FinalStatus>('success', 'failed', 'abandoned');
const fault = fc.constantFrom<WebhookFault>(
  { kind: 'late' },
  { kind: 'late', delay: 500 },
  { kind: 'twice' },
  { kind: 'lost' },
  { kind: 'forged' },
  { kind: 'forged', amount: '0.01' },
  { kind: 'early' },
);
const does = <Name extends string>(name: Name) => fc.constant(name);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: does('change'), reference, status }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: does('plan'),
      reference,
      status,
      delay: fc.integer({ min: 0, max: 9_000 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: does('fault'), fault, times: fc.integer({ min: 1, max: 2 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: does('respond'),
      response: fc.constantFrom('accept', 'refuse', 'throw', 'slow', 'hang'),
    }),
  },
  { weight: 5, arbitrary: fc.record({ does: does('pass'), time: fc.integer({ min: 0, max: 70_000 }) }) },
  { weight: 1, arbitrary: fc.record({ does: does('flush') }) },
  { weight: 1, arbitrary: fc.record({ does: does('send'), reference, isForged: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: does('switch'), isOn: fc.boolean() }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A delivery that a change or a call must have caused. */
interface Expected {
  readonly reference: string;
  readonly fault: WebhookFault['kind'] | null;
  readonly body: unknown;
}

/** What the service must do, in the order in which it does it. */
class Model {
  readonly #entries: Map<string, { readonly status: string; readonly changedAt: number }>;
  readonly #plans = new Map<string, { readonly at: number; readonly status: FinalStatus }>();
  readonly #faults: WebhookFault[] = [];
  hasReceiver = true;
  readonly expected: Expected[] = [];

  constructor(names: readonly string[]) {
    this.#entries = new Map(names.map((name) => [name, { status: 'pending', changedAt: Date.now() }]));
  }

  change(name: string, status: FinalStatus, at = Date.now()): void {
    this.#plans.delete(name);
    if (this.#entries.get(name)?.status === status) return;
    this.#entries.set(name, { status, changedAt: at });
    if (!this.hasReceiver) return;
    const found = this.#faults.shift();
    if (found?.kind === 'forged')
      this.#expect(name, 'forged', { amount: found.amount, ...(found.amount ? {} : { status: 'success' }) });
    if (found?.kind === 'twice') this.#expect(name, 'twice');
    this.#expect(name, found?.kind === 'forged' ? null : (found?.kind ?? null));
  }

  send(name: string, isForged: boolean): void {
    if (isForged) this.#expect(name, 'forged', { status: 'success' });
    else this.#expect(name, null);
  }

  /** Returns the delay, changed so that no two plans are due at the same time. */
  plan(name: string, status: FinalStatus, delay: number): number {
    this.#plans.delete(name);
    const taken = new Set([...this.#plans.values()].map(({ at }) => at));
    let free = delay;
    while (taken.has(Date.now() + free)) free++;
    this.#plans.set(name, { at: Date.now() + free, status });
    return free;
  }

  order(ordered: WebhookFault, times: number): void {
    for (let count = 0; count < times; count++) this.#faults.push(ordered);
  }

  settle(until: number): void {
    const due = [...this.#plans].filter(([, { at }]) => at <= until);
    for (const [name, { at, status }] of due.sort(([, one], [, other]) => one.at - other.at))
      this.change(name, status, at);
  }

  /** `paid_at` is the time of the last change. */
  #expect(
    name: string,
    kind: Expected['fault'],
    forged: { amount?: string | undefined; status?: string } = {},
  ) {
    const entry = this.#entries.get(name) ?? { status: 'pending', changedAt: 0 };
    const { status: claimed = entry.status, amount = '25.50' } = forged;
    const time = new Date(entry.changedAt).toISOString().slice(0, 19);
    const data = {
      reference: name,
      status: claimed,
      amount,
      currency: 'GHS',
      customer_email: payment.customer_email,
      paid_at: claimed === 'success' ? `${time}+00:00` : null,
    };
    this.expected.push({ reference: name, fault: kind, body: { event: `transaction.${claimed}`, data } });
  }
}

interface Flush {
  readonly at: number;
  /** How many deliveries there were. */
  readonly deliveries: number;
}

interface Receipt {
  readonly webhook: ReceivedWebhook;
  isAccepted: boolean;
}

/** Runs steps against a mock, and returns what is needed to judge them. */
async function runSteps(mock: MockPayments, names: readonly string[], steps: readonly Step[]) {
  const model = new Model(names);
  const receipts: Receipt[] = [];
  const flushes: Flush[] = [];
  let respond: () => unknown = responses.accept;
  const receive = async (request: Request) => {
    const receipt: Receipt = { webhook: await parseWebhook(request), isAccepted: false };
    receipts.push(receipt);
    const response = await respond();
    receipt.isAccepted = response === undefined;
    return response;
  };
  mock.webhooks.deliverTo(receive);
  const pass = async (time: number) => {
    model.settle(Date.now() + time);
    await vi.advanceTimersByTimeAsync(time);
    // Without a receiver, a plan settles only on access.
    expect(mock.transactions).toHaveLength(REFERENCES);
  };
  const flush = async () => {
    flushes.push({ at: Date.now(), deliveries: mock.webhooks.deliveries.length });
    let hasEnded = false;
    const flushed = mock.webhooks.flush().then(() => {
      hasEnded = true;
    });
    // The first attempts of one transaction are made one after the other, and each can hang.
    const open = mock.webhooks.deliveries.filter(({ state }) => state === 'waiting' || state === 'sending');
    await pass(open.length * (RETRY_DELAYS.length + 1) * TIMEOUT);
    expect(hasEnded).toBe(true);
    await flushed;
  };
  for (const current of steps) {
    // What is due now settles at the next access, or when its timer fires.
    await pass(0);
    const name = 'reference' in current ? (names[current.reference] ?? '') : '';
    switch (current.does) {
      case 'change':
        model.change(name, current.status);
        mock[controls[current.status]](name);
        break;
      case 'plan':
        mock.settleAfter(name, model.plan(name, current.status, current.delay), current.status);
        break;
      case 'fault':
        model.order(current.fault, current.times);
        mock.webhooks.fault(current.fault, { times: current.times });
        break;
      case 'respond':
        respond = responses[current.response];
        break;
      case 'pass':
        await pass(current.time);
        break;
      case 'flush':
        await flush();
        break;
      case 'send':
        if (!model.hasReceiver) break;
        model.send(name, current.isForged);
        mock.webhooks.send(name, current.isForged ? { status: 'success' } : {});
        break;
      case 'switch':
        model.hasReceiver = current.isOn;
        mock.webhooks.deliverTo(current.isOn ? receive : null);
        break;
    }
  }
  respond = responses.accept;
  await flush();
  // Plans can have come due during the flush.
  await flush();
  return { model, receipts, flushes };
}

type Run = Awaited<ReturnType<typeof runSteps>>;
type Attempt = WebhookDelivery['attempts'][number];

const isAccepted = ({ status: code, error }: Attempt) => code === null && error === null;

/** When the first attempt began and ended. */
function readFirstAttempt({ attempts: [first] }: WebhookDelivery) {
  const begin = first?.at ?? Number.POSITIVE_INFINITY;
  return { begin, end: begin + (first?.duration ?? 0) };
}

/** Each attempt is one request with the payload of the delivery. The first one that is accepted in time is the last. */
function expectAttempts(deliveries: readonly WebhookDelivery[], { receipts }: Run): void {
  const received = Map.groupBy(receipts, ({ webhook }) => webhook.headers['x-sandbox-delivery']);
  for (const { id, state, fault: kind, dueAt, attempts, body } of deliveries) {
    const own = received.get(id) ?? [];
    received.delete(id);
    expect(own).toHaveLength(attempts.length);
    for (const { webhook } of own) expect({ event: webhook.event, data: webhook.data }).toEqual(body);
    expect(attempts.length).toBeLessThanOrEqual(RETRY_DELAYS.length + 1);
    expect(attempts.slice(0, -1).filter(isAccepted)).toEqual([]);
    const isDelivered = attempts.slice(-1).some(isAccepted);
    expect(own.at(-1)?.isAccepted ?? false).toBe(isDelivered);
    const undelivered = kind === 'lost' ? 'lost' : 'failed';
    expect({ state, dueAt }).toEqual({ state: isDelivered ? 'delivered' : undelivered, dueAt: null });
    if (kind === 'lost') expect(attempts).toEqual([]);
  }
  expect([...received.keys()]).toEqual([]);
}

/** When a delivery was flushed first. There is always a flush, because each run ends with one. */
const findFlush = ({ flushes }: Run, index: number) =>
  flushes.find(({ deliveries }) => deliveries > index)?.at ?? Number.POSITIVE_INFINITY;

const MAX_CONCURRENT = 20;

/** Whether all places for requests were taken, so that one more had to wait. */
function isBusy(deliveries: readonly WebhookDelivery[], time: number): boolean {
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  return (
    attempts.filter(({ at, duration }) => at <= time && time <= at + (duration ?? 0)).length >= MAX_CONCURRENT
  );
}

/** Each retry is made at its time, or at once because of a flush. */
function expectRetryTimes(deliveries: readonly WebhookDelivery[], run: Run): void {
  for (const [index, { attempts }] of deliveries.entries()) {
    for (const [number, { at, duration }] of attempts.slice(0, -1).entries()) {
      const end = at + (duration ?? Number.NaN);
      const due = Math.min(end + (RETRY_DELAYS[number] ?? Number.NaN), Math.max(end, findFlush(run, index)));
      if (!isBusy(deliveries, due)) expect(attempts[number + 1]?.at).toBe(due);
    }
  }
}

/** What is late is sent at its time, or at once because of a flush. */
function expectFaultTimes(deliveries: readonly WebhookDelivery[], run: Run): void {
  for (const [index, delivery] of deliveries.entries()) {
    const { fault: kind, attempts, createdAt } = delivery;
    const { begin } = readFirstAttempt(delivery);
    const flushedAt = findFlush(run, index);
    if (attempts.length === 0 || isBusy(deliveries, begin)) continue;
    if (kind === 'late')
      expect(LATE_DELAYS.map((delay) => Math.min(createdAt + delay, flushedAt))).toContain(begin);
  }
}

const isInOrder = ({ fault: kind, attempts }: WebhookDelivery) =>
  attempts.length > 0 && (kind === null || kind === 'twice' || kind === 'early');

/** The first attempts for one transaction are made one after the other, in order, unless a fault says otherwise. */
function expectOrder(deliveries: readonly WebhookDelivery[]): void {
  const byReference = Map.groupBy(deliveries.filter(isInOrder), ({ reference: name }) => name);
  for (const own of byReference.values()) {
    for (const [number, next] of own.slice(1).entries()) {
      const previous = own[number];
      if (previous) expect(readFirstAttempt(previous).end).toBeLessThanOrEqual(readFirstAttempt(next).begin);
    }
  }
  // A forged webhook comes before the real one.
  for (const [index, delivery] of deliveries.entries()) {
    const next = deliveries[index + 1];
    if (delivery.fault !== 'forged' || next?.createdAt !== delivery.createdAt || next.attempts.length === 0)
      continue;
    expect(readFirstAttempt(delivery).begin).toBeLessThanOrEqual(readFirstAttempt(next).begin);
  }
}

test('delivers each change once, in order, unless a fault says otherwise', async () => {
  const { mock, payments } = startMock();
  const steps = fc.array(step, { minLength: 1, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      mock.webhooks.deliverTo(null);
      mock.reset();
      const names: string[] = [];
      for (let count = 0; count < REFERENCES; count++)
        names.push((await payments.initialize(payment)).reference);
      const run = await runSteps(mock, names, sequence);
      const { deliveries } = mock.webhooks;
      const summary = deliveries.map(({ reference: name, fault: kind, body }) => ({
        reference: name,
        fault: kind,
        body,
      }));
      // With the status that the ledger had at each change.
      expect(summary).toEqual(run.model.expected);
      expectAttempts(deliveries, run);
      expectRetryTimes(deliveries, run);
      expectFaultTimes(deliveries, run);
      expectOrder(deliveries);
    }),
    { numRuns: chooseSize(100, 500) },
  );
});
