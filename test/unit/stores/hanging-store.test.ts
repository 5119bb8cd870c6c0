import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ClosedError, JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, passStep, turns } from '../../helpers/fake-timers.ts';
import { findFollowUpEvents, finish } from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';
import {
  momo,
  type OrderProcess,
  type OrderShop,
  openOrderShop,
  page,
  postsOf,
} from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

type Opened = OrderProcess & { readonly shop: OrderShop };

interface Scenario {
  prepare?(opened: Opened): Promise<unknown>;
  call(opened: Opened, signal: AbortSignal): Promise<unknown>;
  hasSignal?: false;
  /** Runs before the service handles a request. */
  intercept?(): Promise<never>;
}

const charge17 = ({ charge }: Opened) => finish(charge('17', momo));

const settleLatest = async (opened: Opened, status: 'approve' | 'decline') => {
  await charge17(opened);
  opened.shop.service[status](opened.shop.service.charges.at(-1)?.reference ?? '');
  await pass(10 * SECOND);
};

const scenarios: Record<string, Scenario> = {
  'charge of an order': { call: ({ charge }, signal) => charge('17', momo, { signal }) },
  'charge after a declined payment': {
    prepare: (opened) => settleLatest(opened, 'decline'),
    call: ({ charge }, signal) => charge('17', momo, { signal }),
  },
  checkout: { call: ({ checkout }, signal) => checkout('17', page, { signal }) },
  read: { prepare: charge17, call: ({ read }, signal) => read('17', { signal }) },
  wait: {
    prepare: (opened) => settleLatest(opened, 'approve'),
    call: ({ wait }, signal) => wait('17', { signal }),
  },
  sweep: {
    prepare: (opened) => settleLatest(opened, 'approve'),
    call: ({ sweep }, signal) => sweep({ signal }),
  },
  'sweep of an unresolved payment': {
    async prepare(opened) {
      opened.shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
      await charge17(opened);
      await pass(15 * SECOND);
    },
    call: ({ sweep }, signal) => sweep({ signal }),
  },
  'charge without a connection': {
    call: ({ charge }, signal) => charge('17', momo, { signal }),
    intercept: async () => {
      const facts = { code: 'ECONNREFUSED', syscall: 'connect', hostname: 'payments.example', port: 443 };
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), facts) });
    },
  },
  'charge under a key': {
    call: ({ payments }, signal) => payments.chargeMobileMoney(momo, { idempotencyKey: 'key', signal }),
  },
  resolve: {
    async prepare({ shop, payments }) {
      shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
      await finish(catchError(payments.chargeMobileMoney(momo, { idempotencyKey: 'key' })));
    },
    call: ({ payments, shop }, signal) => {
      const reference = shop.service.charges.at(-1)?.reference ?? '';
      return payments.resolve('key', { reference }, { ...note, signal });
    },
  },
  'list of a journal': {
    prepare: charge17,
    async call({ journal }) {
      for await (const { key } of journal.list()) expect(key).toBe('17/1');
    },
    hasSignal: false,
  },
  'read of a journal': { call: ({ journal }) => journal.read('key'), hasSignal: false },
};

interface End {
  /** What the call returned, or its error. */
  readonly value?: unknown;
  readonly error?: unknown;
  /** Since the first step hung, in milliseconds. `undefined`: it has not ended. */
  readonly after: number | undefined;
  /** Whether a request was sent that could have charged. */
  readonly hasSent: boolean;
  /** Whether a handler counts as failed, which no test here has. */
  readonly isHandlerBlamed: boolean;
  /** How many steps of the store it made. */
  readonly steps: number;
}

/** Runs a call, and lets time pass by leaps once the store hangs. */
async function run(
  { prepare, call, intercept }: Scenario,
  hangs: (step: number) => boolean = () => false,
  onHang?: (stop: AbortController) => void,
): Promise<End> {
  const hanging = createHangingStore();
  const shop = openOrderShop({ store: hanging.store, ...(intercept ? { intercept } : {}) });
  const opened = { ...shop.start(), shop };
  await prepare?.(opened);
  const before = postsOf(shop).length;
  hanging.hang(({ number }) => hangs(number));
  const stop = new AbortController();
  let end: { value?: unknown; error?: unknown; at: number } | undefined;
  call(opened, stop.signal).then(
    (value) => {
      end = { value, at: Date.now() };
    },
    (error: unknown) => {
      end = { error, at: Date.now() };
    },
  );
  await turns(12);
  while (!end && hanging.hungAt() === undefined) await passStep(5);
  const steps = hanging.countSteps();
  onHang?.(stop);
  const hungAt = hanging.hungAt() ?? Date.now();
  await turns(12);
  while (!end && Date.now() < hungAt + 60 * SECOND && vi.getTimerCount() > 0) {
    vi.advanceTimersToNextTimer();
    await turns(12);
  }
  return {
    ...end,
    after: end && end.at - hungAt,
    hasSent: !intercept && postsOf(shop).length > before,
    isHandlerBlamed: findFollowUpEvents(shop.events).some(({ result }) => result === 'handler_failed'),
    steps,
  };
}

const findLate = ({ after = Number.POSITIVE_INFINITY }: End) =>
  after > 15 * SECOND ? `ended after ${after} ms` : undefined;

/** Returns what is wrong with the end of a call whose store hangs from some step on. */
function findFault(end: End): string | undefined {
  const { error, value, hasSent } = end;
  if (findLate(end)) return findLate(end);
  // What the service has made is returned, or said to be unknown.
  const { reference, payment } = Object(value);
  if (hasSent && error === undefined && (reference ?? payment?.reference) !== undefined) return undefined;
  if (!(error instanceof JournalError)) return `ended with ${String(error)}`;
  if (hasSent) return error.outcome === 'unknown' ? undefined : `has the outcome ${error.outcome}`;
  return error.retryable && error.outcome !== 'unknown' ? undefined : `is ${error.outcome}: ${error.message}`;
}

/** Returns what is wrong with the end of a call that was then aborted. */
function findUnaborted(end: End): string | undefined {
  // What was sent is still recorded.
  if (end.hasSent) return (end.after ?? 0) <= SECOND ? 'ended at the abort' : findFault(end);
  if (end.isHandlerBlamed) return 'called the abort the error of a handler';
  if (end.error !== 'stop') return `ended with ${String(end.error)}`;
  return end.after === undefined || end.after > SECOND ? `ended after ${end.after} ms` : undefined;
}

/** Runs a call once for each of its steps, and returns what is wrong with the ends. */
async function findFaults(scenario: Scenario, runAt: (first: number) => Promise<string | undefined>) {
  const { steps } = await run(scenario);
  const faults: string[] = [];
  for (let first = 0; first < steps; first++) {
    const fault = await runAt(first);
    if (fault !== undefined) faults.push(`step ${first} of ${steps}: ${fault}`);
  }
  return faults;
}

const all = Object.entries(scenarios);

test.each(all)(
  '%s is a JournalError within 15 s, wherever the store begins to hang',
  async (_name, scenario) => {
    const runAt = async (first: number) => findFault(await run(scenario, (step) => step >= first));
    expect(await findFaults(scenario, runAt)).toEqual([]);
  },
);

test.each(all)('%s ends within 15 s, whichever step alone hangs', async (_name, scenario) => {
  const runAt = async (first: number) => findLate(await run(scenario, (step) => step === first));
  expect(await findFaults(scenario, runAt)).toEqual([]);
});

test.each(all.filter(([, { hasSignal }]) => hasSignal !== false))(
  '%s ends within 1 s of an abort, unless a charge was sent',
  async (_name, scenario) => {
    const abort = (stop: AbortController) => stop.abort('stop');
    const runAt = async (first: number) => findUnaborted(await run(scenario, (step) => step >= first, abort));
    expect(await findFaults(scenario, runAt)).toEqual([]);
  },
);

/** Lets up to a minute pass until a promise settles, and returns its value or error, and how long it took. */
async function timed(promise: Promise<unknown>): Promise<{ end: unknown; after: number }> {
  const startedAt = Date.now();
  const minute = new Promise((resolve) => setTimeout(resolve, 60 * SECOND, 'has not ended'));
  const end = await finish(Promise.race([promise.catch((error: unknown) => error), minute]));
  return { end, after: Date.now() - startedAt };
}

/** Opens a shop, with its store, and a payment of the order 17 that is under way. */
async function openProcessing() {
  const hanging = createHangingStore();
  const shop = openOrderShop({ store: hanging.store });
  const opened = { ...shop.start(), shop };
  await charge17(opened);
  return { ...opened, hanging };
}

const error = { name: 'JournalError', retryable: true };

test.each([
  ['what it last knew at its timeout', 5 * SECOND, SECOND, { order: '17', state: 'processing' }, 5 * SECOND],
  ['a JournalError at its timeout, if it has read nothing', 5 * SECOND, 0, error, 5 * SECOND],
  ['a JournalError before its timeout, if a read hangs meanwhile', undefined, SECOND, error, 16 * SECOND],
])('wait returns %s, while the store hangs', async (_what, timeout, hangsAfter, expected, most) => {
  const { wait, hanging } = await openProcessing();
  if (hangsAfter === 0) hanging.hang(() => true);
  const waiting = timed(wait('17', timeout === undefined ? {} : { timeout }));
  await pass(hangsAfter);
  hanging.hang(() => true);
  const { end, after } = await waiting;
  expect(end).toMatchObject(expected);
  expect(after).toBeLessThanOrEqual(most + SECOND);
});

describe('wait', () => {
  test('reads once with a timeout of 0, although the store is slow', async () => {
    const { wait, hanging } = await openProcessing();
    hanging.hang(() => true);
    const waiting = timed(wait('17', { timeout: 0 }));
    await pass(900);
    hanging.release();
    expect((await waiting).end).toMatchObject({ state: 'processing' });
  });

  test('keeps its timeout in the pause after an error', async () => {
    const { wait, shop } = await openProcessing();
    shop.service.fault('verify', { kind: 'status', status: 403 });
    const { end, after } = await timed(wait('17', { timeout: 10 * SECOND }));
    expect(end).toMatchObject({ state: 'processing' });
    expect(after).toBeLessThanOrEqual(10 * SECOND + 10);
  });

  test('ends at close() while the store hangs', async () => {
    const { wait, payments, hanging } = await openProcessing();
    hanging.hang(() => true);
    const waiting = timed(wait('17'));
    await turns();
    payments.close();
    const { end, after } = await waiting;
    expect(end).toBeInstanceOf(ClosedError);
    expect(after).toBeLessThan(SECOND);
  });

  test('reads again only once its last read has ended', async () => {
    const { wait, hanging } = await openProcessing();
    const stop = new AbortController();
    const waiting = catchError(wait('17', { signal: stop.signal }));
    await pass(SECOND);
    hanging.hang(() => true);
    await pass(10 * SECOND);
    expect(hanging.countSteps()).toBe(1);
    hanging.release();
    await pass(3 * SECOND);
    expect(hanging.countSteps()).toBeGreaterThan(1);
    stop.abort('stop');
    expect(await timed(waiting)).toMatchObject({ end: 'stop' });
  });
});

test('releases a claim that is written after its call has failed', async () => {
  const hanging = createHangingStore();
  const shop = openOrderShop({ store: hanging.store });
  const { charge, journal } = shop.start();
  hanging.hang(({ method, key }) => method === 'write' && key === 'order 17');
  const { end } = await timed(charge('17', momo));
  expect(end).toMatchObject({ code: 'journal_error', retryable: true, outcome: 'not_sent' });
  hanging.release();
  await turns();
  expect(await journal.read('17/1')).toMatchObject({ state: 'not_sent' });
  expect(await finish(charge('17', momo))).toMatchObject({ state: 'processing', payment: { key: '17/1' } });
  expect(postsOf(shop)).toHaveLength(1);
});

test('a press that waits for the page of another one ends at an abort', async () => {
  const hanging = createHangingStore();
  const shop = openOrderShop({ store: hanging.store, intercept: () => new Promise(() => {}) });
  const { checkout, payments } = shop.start();
  const first = catchError(checkout('17', page));
  await pass(SECOND, 50);
  const stop = new AbortController();
  const second = timed(checkout('17', page, { signal: stop.signal }));
  await pass(SECOND, 50);
  hanging.hang(() => true);
  await pass(SECOND, 50);
  stop.abort('stop');
  const { end, after } = await second;
  expect(end).toBe('stop');
  expect(after).toBeLessThanOrEqual(4 * SECOND);
  expect(postsOf(shop)).toHaveLength(1);
  payments.close();
  hanging.release();
  await timed(first);
});

test('an abort in flight leaves the journal its time to record the outcome', async () => {
  const hanging = createHangingStore();
  const shop = openOrderShop({ store: hanging.store, intercept: () => new Promise(() => {}) });
  const { payments, journal } = shop.start();
  const stop = new AbortController();
  const charging = timed(payments.chargeMobileMoney(momo, { idempotencyKey: 'key', signal: stop.signal }));
  await pass(SECOND);
  hanging.hang(() => true);
  stop.abort();
  await pass(4 * SECOND);
  hanging.release();
  expect((await charging).end).toBeInstanceOf(OutcomeUnknownError);
  expect(await journal.read('key')).toMatchObject({ state: 'unknown' });
  expect(shop.events).not.toContainEqual(expect.objectContaining({ result: 'not_recorded' }));
});

test('waits 1 s for a store that hung, until one of its steps ends', async () => {
  const hanging = createHangingStore();
  const { read } = openOrderShop({ store: hanging.store }).start();
  const fail = async () => {
    const { end, after } = await timed(read('17'));
    expect(end).toBeInstanceOf(JournalError);
    return after;
  };
  hanging.hang(() => true);
  expect(await fail()).toBeGreaterThan(10 * SECOND);
  expect(await fail()).toBeLessThan(2 * SECOND);
  hanging.release();
  expect(await finish(read('17'))).toMatchObject({ state: 'unpaid' });
  hanging.hang(() => true);
  expect(await fail()).toBeGreaterThan(10 * SECOND);
});
