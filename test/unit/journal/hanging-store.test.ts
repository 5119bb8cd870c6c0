import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ClosedError, JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass, passStep, turns } from '../../helpers/fake-timers.ts';
import { findFollowUpEvents, finish } from '../../helpers/follow-ups.ts';
import { createHangingStore, type HangingStore } from '../../helpers/hanging-store.ts';
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
  readonly error: unknown;
  readonly value: unknown;
  /** Since the first step hung, in milliseconds. `undefined`: it has not ended. */
  readonly after: number | undefined;
  /** Whether a request was sent that could have charged. */
  readonly hasSent: boolean;
  /** Whether a handler counts as failed, which no test here has. */
  readonly isHandlerBlamed: boolean;
}

/** Runs a call, and lets time pass by leaps once the store hangs. */
async function run(
  { prepare, call, intercept }: Scenario,
  hangs: (step: number) => boolean = () => false,
  onHang?: (stop: AbortController) => void,
): Promise<{ end: End; steps: number }> {
  const hanging = createHangingStore();
  const shop = openOrderShop({ store: hanging.store, ...(intercept ? { intercept } : {}) });
  const opened = { ...shop.start(), shop };
  await prepare?.(opened);
  const before = postsOf(shop).length;
  hanging.hang(({ number }) => hangs(number));
  const stop = new AbortController();
  let end: Pick<End, 'error' | 'value'> | undefined;
  let endedAt = 0;
  const settle = (settled: Pick<End, 'error' | 'value'>) => {
    end = settled;
    endedAt = Date.now();
  };
  call(opened, stop.signal).then(
    (value) => settle({ value, error: undefined }),
    (error: unknown) => settle({ error, value: undefined }),
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
  const after = end && endedAt - hungAt;
  const hasSent = !intercept && postsOf(shop).length > before;
  const isHandlerBlamed = findFollowUpEvents(shop.events).some(({ result }) => result === 'handler_failed');
  return {
    end: {
      error: undefined,
      value: undefined,
      ...end,
      after,
      hasSent,
      isHandlerBlamed,
    },
    steps,
  };
}

/** Returns what is wrong with an end. */
function findFault({ error, value, after, hasSent }: End): string | undefined {
  if (after === undefined) return 'has not ended';
  if (after > 15 * SECOND) return `ended after ${after} ms`;
  // What the service has made is returned, or said to be unknown.
  const { reference, payment } = Object(value);
  if (hasSent && error === undefined && (reference ?? payment?.reference) !== undefined) return undefined;
  if (!(error instanceof JournalError)) return `ended with ${String(error)}`;
  if (hasSent) return error.outcome === 'unknown' ? undefined : `has the outcome ${error.outcome}`;
  return error.retryable && error.outcome !== 'unknown' ? undefined : `is ${error.outcome}: ${error.message}`;
}

/** Runs a call once for each of its steps, and returns what `find` says of the ends. */
async function findFaults(
  scenario: Scenario,
  find: (end: End) => string | undefined,
  {
    hangs,
    onHang,
  }: { hangs: (step: number, first: number) => boolean; onHang?: (stop: AbortController) => void },
): Promise<string[]> {
  const { steps } = await run(scenario);
  const faults = [];
  for (let first = 0; first < steps; first++) {
    const { end } = await run(scenario, (step) => hangs(step, first), onHang);
    const fault = find(end);
    if (fault !== undefined) faults.push(`step ${first} of ${steps}: ${fault}`);
  }
  return faults;
}

const fromThen = (step: number, first: number) => step >= first;
const onlyThen = (step: number, first: number) => step === first;

const all = Object.entries(scenarios);

describe.each(all)('%s', (_name, scenario) => {
  test('is a JournalError within 15 s, wherever the store begins to hang', async () => {
    expect(await findFaults(scenario, findFault, { hangs: fromThen })).toEqual([]);
  });

  test('ends within 15 s, whichever step alone hangs', async () => {
    const findLate = ({ after = Number.POSITIVE_INFINITY }: End) =>
      after > 15 * SECOND ? `ended after ${after} ms` : undefined;
    expect(await findFaults(scenario, findLate, { hangs: onlyThen })).toEqual([]);
  });
});

test.each(all.filter(([, { hasSignal }]) => hasSignal !== false))(
  '%s ends within 1 s of an abort, unless a charge was sent',
  async (_name, scenario) => {
    const findLate = (end: End) => {
      // What was sent is still recorded.
      if (end.hasSent) return (end.after ?? 0) <= SECOND ? 'ended at the abort' : findFault(end);
      if (end.isHandlerBlamed) return 'called the abort the error of a handler';
      if (end.error !== 'stop') return `ended with ${String(end.error)}`;
      return end.after === undefined || end.after > SECOND ? `ended after ${end.after} ms` : undefined;
    };
    const onHang = (stop: AbortController) => stop.abort('stop');
    expect(await findFaults(scenario, findLate, { hangs: fromThen, onHang })).toEqual([]);
  },
);

/** Lets up to a minute pass until a promise settles, and returns its value or error, and how long it took. */
async function timed(promise: Promise<unknown>): Promise<{ end: unknown; after: number }> {
  const startedAt = Date.now();
  const minute = new Promise((resolve) => setTimeout(resolve, 60 * SECOND, 'has not ended'));
  const end = await finish(Promise.race([promise.catch((error: unknown) => error), minute]));
  return { end, after: Date.now() - startedAt };
}

describe('wait', () => {
  /** Opens a shop with a payment that is under way. */
  async function openProcessing(): Promise<Opened & { readonly hanging: HangingStore }> {
    const hanging = createHangingStore();
    const shop = openOrderShop({ store: hanging.store });
    const opened = { ...shop.start(), shop, hanging };
    await charge17(opened);
    return opened;
  }

  test('returns what it last knew at its timeout, while the store hangs', async () => {
    const { wait, hanging } = await openProcessing();
    const waiting = timed(wait('17', { timeout: 5 * SECOND }));
    await pass(SECOND);
    hanging.hang(() => true);
    const { end, after } = await waiting;
    expect(end).toMatchObject({ order: '17', state: 'processing' });
    expect(after).toBeLessThanOrEqual(6 * SECOND);
  });

  test('is a JournalError at its timeout, if it has read nothing', async () => {
    const { wait, hanging } = await openProcessing();
    hanging.hang(() => true);
    const { end, after } = await timed(wait('17', { timeout: 5 * SECOND }));
    expect(end).toBeInstanceOf(JournalError);
    expect(end).toHaveProperty('retryable', true);
    expect(after).toBeLessThanOrEqual(5 * SECOND + 10);
  });

  test('is a JournalError before its timeout, if a read hangs meanwhile', async () => {
    const { wait, hanging } = await openProcessing();
    const waiting = timed(wait('17'));
    await pass(SECOND);
    hanging.hang(() => true);
    const { end, after } = await waiting;
    expect(end).toBeInstanceOf(JournalError);
    expect(after).toBeLessThanOrEqual(16 * SECOND);
  });

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
