import { describe, expect, test } from 'vitest';
import { ClosedError, JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { createHangingStore, type HangingStore } from '../../helpers/hanging-store.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { MINUTE, momo, type Process, type Respond, SECOND, type World, world } from '../../helpers/world.ts';

interface Opened extends World, Process {
  readonly hanging: HangingStore;
}

/** Opens a shop on a store that hangs when it is told to. */
function open(respond?: Respond): Opened {
  const hanging = createHangingStore();
  const opened = world({ store: hanging.store, ...(respond && { respond }) });
  const { payments, orders, followUps } = opened.shop;
  return { ...opened, hanging, payments, orders, followUps };
}

interface Scenario {
  prepare?(opened: Opened): Promise<unknown>;
  call(opened: Opened, signal: AbortSignal): Promise<unknown>;
  readonly hasSignal?: false;
}

const charge17 = ({ orders }: Opened) => orders.charge('17', momo);
const findReference = ({ service }: Opened) => service.charges.at(-1)?.reference ?? '';

async function approve17(opened: Opened) {
  await charge17(opened);
  opened.service.approve(findReference(opened));
  await sleep(10 * SECOND);
}

/** That every other call ends in time, and at an abort, is simulated. */
const scenarios: Record<string, Scenario> = {
  'charge of an order': { call: ({ orders }, signal) => orders.charge('17', momo, { signal }) },
  wait: {
    prepare: approve17,
    call: ({ orders }, signal) => orders.wait('17', { signal }),
  },
  sweep: {
    prepare: approve17,
    call: ({ orders }, signal) => orders.sweep({ signal }),
  },
  'charge under a key': {
    call: ({ payments }, signal) => payments.chargeMobileMoney(momo, { idempotencyKey: 'key', signal }),
  },
  resolve: {
    async prepare(opened) {
      opened.service.fault('chargeMobileMoney', { kind: 'responseLost' });
      await catchError(opened.payments.chargeMobileMoney(momo, { idempotencyKey: 'key' }));
    },
    call: (opened, signal) =>
      opened.payments.resolve('key', { reference: findReference(opened) }, { ...note, signal }),
  },
  'list of a journal': {
    prepare: charge17,
    async call({ journal }) {
      for await (const { key } of journal.list()) expect(key).toBe('17/1');
    },
    hasSignal: false,
  },
};

interface End {
  /** What the call returned, or its error. */
  readonly value?: unknown;
  readonly error?: unknown;
  /** Since the first step hung, in milliseconds. A call that has not ended has the time that was waited. */
  readonly after: number;
  /** Whether a request was sent that could have charged. */
  readonly hasSent: boolean;
  /** Whether a handler counts as failed, which no test here has. */
  readonly isHandlerBlamed: boolean;
  /** How many steps of the store it made. */
  readonly steps: number;
}

/** Runs a call, for a minute at most. */
async function run(
  { prepare, call }: Scenario,
  hangs: (step: number) => boolean = () => false,
  isAborted = false,
): Promise<End> {
  const opened = open();
  const { hanging, posts, events } = opened;
  await prepare?.(opened);
  const before = posts.length;
  const stop = new AbortController();
  hanging.hang(({ number }) => {
    const isHung = hangs(number);
    if (isHung && isAborted) setImmediate(() => stop.abort('stop'));
    return isHung;
  });
  const ending = call(opened, stop.signal).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  const end = await Promise.race([ending, sleep(MINUTE)]);
  return {
    ...end,
    after: Date.now() - (hanging.hungAt() ?? Date.now()),
    hasSent: posts.length > before,
    isHandlerBlamed: events.some((event) => event.type === 'follow_up' && event.result === 'handler_failed'),
    steps: hanging.countSteps(),
  };
}

const findLate = ({ after }: End) => (after > 15 * SECOND ? `ended after ${after} ms` : undefined);

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
  if (end.hasSent) return end.after <= SECOND ? 'ended at the abort' : findFault(end);
  if (end.isHandlerBlamed) return 'called the abort the error of a handler';
  if (end.error !== 'stop') return `ended with ${String(end.error)}`;
  return end.after > SECOND ? `ended after ${end.after} ms` : undefined;
}

/** Runs a call once for each of its steps, and returns what is wrong with the ends. */
async function findFaults(scenario: Scenario, runAt: (first: number) => Promise<string | undefined>) {
  const { steps } = await run(scenario);
  expect(steps).toBeGreaterThan(0);
  const faults: string[] = [];
  for (let first = 0; first < steps; first++) {
    const fault = await runAt(first);
    if (fault !== undefined) faults.push(`step ${first} of ${steps}: ${fault}`);
  }
  return faults;
}

describe.each(Object.entries(scenarios))('%s', (_name, scenario) => {
  test('is a JournalError within 15 s, wherever the store begins to hang', async () => {
    const runAt = async (first: number) => findFault(await run(scenario, (step) => step >= first));
    expect(await findFaults(scenario, runAt)).toEqual([]);
  });

  test('ends within 15 s, whichever step alone hangs', async () => {
    const runAt = async (first: number) => findLate(await run(scenario, (step) => step === first));
    expect(await findFaults(scenario, runAt)).toEqual([]);
  });

  if (scenario.hasSignal !== false)
    test('ends within 1 s of an abort, unless a charge was sent', async () => {
      const runAt = async (first: number) =>
        findUnaborted(await run(scenario, (step) => step >= first, true));
      expect(await findFaults(scenario, runAt)).toEqual([]);
    });
});

/** Returns the value or error of a call, and how long it took. One that has not ended within a minute has neither. */
async function time(call: Promise<unknown>): Promise<{ end: unknown; after: number }> {
  const startedAt = Date.now();
  const end = await Promise.race([call.catch((error: unknown) => error), sleep(MINUTE)]);
  return { end, after: Date.now() - startedAt };
}

/** Opens a shop with a payment of the order 17 that is under way. */
async function openProcessing(): Promise<Opened> {
  const opened = open();
  await charge17(opened);
  return opened;
}

describe('a wait', () => {
  const error = { name: 'JournalError', retryable: true };

  test.each([
    [
      'what it last knew at its timeout',
      5 * SECOND,
      SECOND,
      { order: '17', state: 'processing' },
      5 * SECOND,
    ],
    ['a JournalError at its timeout, if it has read nothing', 5 * SECOND, 0, error, 5 * SECOND],
    ['a JournalError, if a read hangs long before its timeout', undefined, SECOND, error, 16 * SECOND],
  ])('ends with %s', async (_what, timeout, hangsAfter, expected, most) => {
    const { orders, hanging } = await openProcessing();
    if (hangsAfter === 0) hanging.hang(() => true);
    const waiting = time(orders.wait('17', timeout === undefined ? {} : { timeout }));
    await sleep(hangsAfter);
    hanging.hang(() => true);
    const { end, after } = await waiting;
    expect(end).toMatchObject(expected);
    expect(after).toBeLessThanOrEqual(most + SECOND);
  });

  test('reads once with a timeout of 0, although the store is slow', async () => {
    const { orders, hanging } = await openProcessing();
    hanging.hang(() => true);
    const waiting = orders.wait('17', { timeout: 0 });
    await sleep(900);
    hanging.release();
    expect(await waiting).toMatchObject({ state: 'processing' });
  });

  test('ends at close()', async () => {
    const { orders, payments, hanging, clock } = await openProcessing();
    hanging.hang(() => true);
    const waiting = time(orders.wait('17'));
    await clock.settle();
    void payments.close();
    const { end, after } = await waiting;
    expect(end).toBeInstanceOf(ClosedError);
    expect(after).toBeLessThan(SECOND);
  });

  test('reads again only once its last read has ended', async () => {
    const { orders, hanging } = await openProcessing();
    const stop = new AbortController();
    const waiting = catchError(orders.wait('17', { signal: stop.signal }));
    await sleep(SECOND);
    hanging.hang(() => true);
    await sleep(10 * SECOND);
    expect(hanging.countSteps()).toBe(1);
    hanging.release();
    await sleep(3 * SECOND);
    expect(hanging.countSteps()).toBeGreaterThan(1);
    stop.abort('stop');
    expect(await waiting).toBe('stop');
  });
});

test('leaves the journal its time to record what was aborted in flight', async () => {
  const { payments, journal, hanging, events } = open(() => new Promise(() => {}));
  const stop = new AbortController();
  const charging = catchError(
    payments.chargeMobileMoney(momo, { idempotencyKey: 'key', signal: stop.signal }),
  );
  await sleep(SECOND);
  hanging.hang(() => true);
  stop.abort();
  await sleep(4 * SECOND);
  hanging.release();
  expect(await charging).toBeInstanceOf(OutcomeUnknownError);
  expect(await journal.read('key')).toMatchObject({ state: 'unknown' });
  expect(events).not.toContainEqual(expect.objectContaining({ result: 'not_recorded' }));
});

test('waits 1 s for a store that hung, until one of its steps ends', async () => {
  const { orders, hanging } = open();
  const fail = async () => {
    const { end, after } = await time(orders.read('17'));
    expect(end).toBeInstanceOf(JournalError);
    return after;
  };
  hanging.hang(() => true);
  expect(await fail()).toBeGreaterThan(10 * SECOND);
  expect(await fail()).toBeLessThan(2 * SECOND);
  hanging.release();
  expect(await orders.read('17')).toMatchObject({ state: 'unpaid' });
  hanging.hang(() => true);
  expect(await fail()).toBeGreaterThan(10 * SECOND);
});
