/** Ends each call that waits at each of its steps, by `close()`, by its signal and by both: they must not end it twice. */

import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ClosedError, OutcomeUnknownError } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { collect, getReference, momo, type Process, page, SECOND, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { another, otherNumber } from '../orders/beginnings.ts';

type Options = { signal?: AbortSignal };
type Call = (shop: Process, reference: string, options: Options) => Promise<unknown>;

const key = { idempotencyKey: 'key' };

/** They are made on a new journal. */
const firstCalls: Readonly<Record<string, Call>> = {
  initialize: ({ payments }, _, options) => payments.initialize(page, { ...key, ...options }),
  chargeMobileMoney: ({ payments }, _, options) => payments.chargeMobileMoney(momo, { ...key, ...options }),
  'orders.charge': ({ orders }, _, options) => orders.charge('17', momo, options),
  'orders.checkout': ({ orders }, _, options) => orders.checkout('17', page, options),
};

/** They are made once the order 17 has a payment of this reference, which is due and will be approved in a while. */
const laterCalls: Readonly<Record<string, Call>> = {
  verify: ({ payments }, reference, options) => payments.verify(reference, options),
  waitForFinalStatus: ({ payments }, reference, options) => payments.waitForFinalStatus(reference, options),
  watch: ({ payments }, reference, options) => collect(payments.watch(reference, options)),
  reconcile: ({ payments }, reference, options) =>
    collect(payments.reconcile([reference, reference], options)),
  'a press beside a payment': ({ orders }, _, options) => orders.charge('17', otherNumber, options),
  'a press for another payment': ({ orders }, _, options) =>
    orders.charge('17', otherNumber, { ...another, ...options }),
  'a press beside a sweep': async ({ orders }, _, options) => {
    orders.sweep(options).catch(() => {});
    return await orders.charge('17', otherNumber, options);
  },
  'orders.wait': ({ orders }, _, options) => orders.wait('17', options),
  'orders.sweep': ({ orders }, _, options) => orders.sweep(options),
  'orders.run': ({ orders }, _, options) => orders.run(options),
};

const LEFT = new Error('the caller left');

const close = ({ payments }: Process) => void payments.close();
const leave = (_: Process, abort: AbortController) => abort.abort(LEFT);
const ends = [
  { by: 'close', hasSignal: false, end: close },
  { by: 'close beside its signal', hasSignal: true, end: close },
  { by: 'its signal', hasSignal: true, end: leave },
  {
    by: 'close and its signal',
    hasSignal: true,
    end(shop: Process, abort: AbortController) {
      close(shop);
      leave(shop, abort);
    },
  },
  {
    by: 'its signal and close',
    hasSignal: true,
    end(shop: Process, abort: AbortController) {
      leave(shop, abort);
      close(shop);
    },
  },
];

interface Ended {
  readonly call: Call;
  readonly isLater: boolean;
  readonly end: (shop: Process, abort: AbortController) => void;
  readonly hasSignal: boolean;
}

/** Makes a call, ends it at this step, and returns whether it had that many. */
async function endAt(last: number, { call, isLater, end, hasSignal }: Ended): Promise<boolean> {
  let steps = Number.NEGATIVE_INFINITY;
  let sentAfter = 0;
  const abort = new AbortController();
  let endedAt = Number.POSITIVE_INFINITY;
  const endNow = () => {
    endedAt = clock.now;
    end(shop, abort);
  };
  const step = () => {
    if (steps++ === last) endNow();
  };
  const store = memoryStore();
  const { shop, service, clock, start } = world({
    store: wrapStore(store, async (_, run) => {
      step();
      return await run().finally(step);
    }),
    // A request that is reported is on its way.
    client: { onEvent: ({ type }) => type !== 'request' && step() },
    async onPaid() {
      step();
      await sleep(SECOND);
      step();
    },
    async respond(_, handle) {
      if (steps > last) sentAfter++;
      step();
      await sleep(100);
      const response = await handle();
      step();
      return response;
    },
  });
  const reference = isLater ? getReference(await shop.orders.charge('17', momo)) : '';
  await clock.pass(8 * SECOND);
  const before = service.transactions.length;
  if (isLater) setTimeout(() => service.approve(reference), 2 * SECOND);
  steps = 0;
  const calling = Promise.allSettled([call(shop, reference, hasSignal ? { signal: abort.signal } : {})]);
  await Promise.race([calling, sleep(5 * SECOND)]);
  const isReached = steps > last;
  if (!isReached) endNow();
  const [result] = await calling;
  expect(clock.now - endedAt).toBeLessThan(2 * SECOND);
  judge(result, service.transactions.length > before);
  await shop.payments.close();
  expect(sentAfter).toBe(0);
  if (!abort.signal.aborted) expect(getEventListeners(abort.signal, 'abort')).toEqual([]);

  // After a restart, nothing is charged twice.
  const next = start({ store });
  const again = Promise.allSettled([call(next, reference, {})]);
  await clock.pass(SECOND);
  await next.payments.close();
  await again;
  expect(service.transactions.length).toBeLessThanOrEqual(before + 1);
  await clock.pass(6 * SECOND);
  expect(vi.getTimerCount()).toBe(0);
  return isReached;
}

/** What a call returns or throws says nothing wrong of the charge. */
function judge(result: PromiseSettledResult<unknown>, isCharged: boolean): void {
  const { state, error } = Object(result.status === 'fulfilled' ? result.value : {});
  const thrown: unknown = result.status === 'fulfilled' ? error : result.reason;
  const isNotSent = thrown === LEFT || thrown instanceof ClosedError;
  if (thrown !== undefined && !isNotSent) expect(thrown).toBeInstanceOf(OutcomeUnknownError);
  expect(isCharged && (isNotSent || state === 'unpaid')).toBe(false);
}

const calls = [
  ...Object.entries(firstCalls).map(([name, call]) => ({ name, call, isLater: false })),
  ...Object.entries(laterCalls).map(([name, call]) => ({ name, call, isLater: true })),
];
const cases = calls.flatMap((item) =>
  ends.flatMap((ended) => ({ ...item, ...ended, title: `${item.name} by ${ended.by}` })),
);

test.for(cases)('ends $title, at each step', async (ended) => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  for (let step = 0; await endAt(step, ended); step++)
    expect({ step, calls: unhandled.mock.calls }).toEqual({ step, calls: [] });
});
