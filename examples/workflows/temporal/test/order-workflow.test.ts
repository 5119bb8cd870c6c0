import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { parseWorkflowCode } from '@temporalio/worker/lib/worker.js';
import { VMWorkflowCreator } from '@temporalio/worker/lib/workflow/vm.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defaultCheckSchedule } from '../../shop/check-schedule.ts';
import { openShop } from './shop.ts';
import { logger, replay, SimulatedRun } from './simulated-run.ts';

const minutes = 60_000;
const hours = 60 * minutes;

let bundle: string;
let creator: VMWorkflowCreator;
beforeAll(async () => {
  const workflowsPath = fileURLToPath(import.meta.resolve('../order-workflow.ts'));
  bundle = (await bundleWorkflowCode({ workflowsPath, logger })).code;
  creator = await VMWorkflowCreator.create(parseWorkflowCode(bundle), 60_000, new Set());
});
afterAll(() => creator.destroy());

async function start() {
  const shop = await openShop();
  const begin = () => SimulatedRun.start(creator, shop.activities, ['order-1', defaultCheckSchedule]);
  return { ...shop, begin };
}

test('bundles the schedule, and nothing of Node or of the client', () => {
  const holds = (text: string) => bundle.includes(text);
  expect(holds('nextDelay: elapsed and every option must be milliseconds.')).toBe(true);
  // Temporal's bundler refuses modules of Node. Nothing must replace them here.
  expect(['"node:', "'node:", 'dangerouslyAllowBrowser', 'ZodError'].filter(holds)).toEqual([]);
});

test('charges an order, checks it, and fulfils it once it is paid', async () => {
  const { begin, sandbox, orders, reference } = await start();
  const run = await begin();
  expect(run.delays).toEqual([8_000]);
  await run.nextTimer();
  await run.nextTimer();
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.result).toBe('fulfilled');
  expect(run.ran).toEqual(['charge', 'checkPayment', 'checkPayment', 'checkPayment']);
  expect(orders.countParcels('order-1')).toBe(1);
});

test('releases the order after a declined payment', async () => {
  const { begin, sandbox, reference } = await start();
  const run = await begin();
  sandbox.decline(reference());
  await run.nextTimer();
  expect(run.result).toBe('released');
});

test('releases the goods after 10 minutes, and sees a late payment in an hour', async () => {
  const { begin, sandbox, order, reference } = await start();
  const run = await begin();
  await run.timersUntil(() => order().state === 'released');
  expect(run.elapsed).toBe(10 * minutes);
  expect(run.ran.at(-2)).toBe('checkPayment');
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.elapsed - 10 * minutes).toBeLessThanOrEqual(hours);
  expect(run.result).toBe('paid_late');
  expect(sandbox.charges).toHaveLength(1);
});

test('stops the checks after a day', async () => {
  const { begin, order } = await start();
  const run = await begin();
  await run.timersUntil(() => false);
  expect(run.result).toBe('released');
  expect(order().state).toBe('released');
  expect(run.elapsed).toBe(24 * hours);
  expect(run.ran.filter((name) => name === 'release')).toHaveLength(1);
  // Temporal suggests a new run from about 4,000 events on. A check has about 11.
  expect(run.ran.length * 11).toBeLessThan(2_000);
});

test('holds the order for review after a lost response', async () => {
  const { begin, sandbox, order } = await start();
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  const run = await begin();
  expect(run.result).toBe('in_review');
  expect(run.ran).toEqual(['charge: Unknown', 'holdForReview']);
  expect(order()).toMatchObject({
    state: 'in_review',
    note: expect.stringContaining('A charge might exist'),
  });
  expect(sandbox.requests).toHaveLength(1);
});

test('ends the order after a rejected charge', async () => {
  const { begin, sandbox, order } = await start();
  sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 });
  const run = await begin();
  expect(run.result).toBe('rejected');
  expect(run.ran).toEqual(['charge: Rejected', 'reject']);
  expect(order().state).toBe('rejected');
});

test('retries a check after temporary errors only', async () => {
  const { begin, sandbox, order } = await start();
  const run = await begin();
  sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 2 });
  await run.nextTimer();
  expect(run.ran).toEqual([
    'charge',
    'checkPayment: ServerError',
    'checkPayment: ServerError',
    'checkPayment',
  ]);
  sandbox.fault('verify', { kind: 'status', status: 403 });
  await run.nextTimer();
  expect(run.result).toBe('in_review');
  expect(order().state).toBe('in_review');
});

test('holds the order for review after another amount was paid', async () => {
  const { begin, sandbox, orders, reference } = await start();
  const run = await begin();
  sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.result).toBe('in_review');
  expect(orders.countParcels('order-1')).toBe(0);
});

test('makes one check for each notification, and trusts none', async () => {
  const { begin, sandbox, order, reference } = await start();
  const run = await begin();
  await run.signal('notification');
  await run.signal('notification');
  expect(run.ran).toEqual(['charge', 'checkPayment', 'checkPayment']);
  expect(order().state).toBe('waiting');
  sandbox.approve(reference());
  await run.signal('notification');
  expect(run.result).toBe('fulfilled');
  expect(run.elapsed).toBe(0);
});

test('waits for the Retry-After of the service', async () => {
  const { activities } = await start();
  const checkPayment = async () => ({ state: null, retryAfter: 40_000 });
  const run = await SimulatedRun.start(creator, { ...activities, checkPayment }, [
    'order-1',
    defaultCheckSchedule,
  ]);
  await run.nextTimer();
  expect(run.delays).toEqual([8_000, 40_000]);
});

test('holds the order for review when its workflow is cancelled', async () => {
  const { begin, order } = await start();
  const run = await begin();
  await run.cancel();
  expect(run.result).toBe('in_review');
  expect(order().state).toBe('in_review');
});

test('fails the task, not the order, if the workflow has a bug', async () => {
  const { activities, order } = await start();
  const broken = { beforeDeadline: { minDelay: 'three seconds' }, afterDeadline: {} };
  await expect(SimulatedRun.start(creator, activities, ['order-1', broken])).rejects.toThrow('milliseconds');
  expect(order().state).toBe('waiting');
});

test('gives the same commands when it is replayed', async () => {
  const { begin, sandbox, reference } = await start();
  const run = await begin();
  await run.nextTimer();
  await run.signal('notification');
  await run.timersUntil(() => run.elapsed >= 10 * minutes);
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.result).toBe('paid_late');
  expect(await replay(creator, run.history)).toEqual(run.history.map(({ commands }) => commands));
});

test('keeps phone, email and API key out of the history', async () => {
  const { begin, sandbox, order, reference } = await start();
  const run = await begin();
  await run.nextTimer();
  sandbox.fault('verify', { kind: 'status', status: 403 });
  await run.nextTimer();
  expect(run.ran).toEqual(['charge', 'checkPayment', 'checkPayment: Unknown', 'holdForReview']);
  const history = run.history.map(({ activation, commands }) => toText(activation) + commands).join('\n');
  expect(history).toContain(reference());
  for (const secret of [order().phone, order().customer_email, sandbox.liveKey])
    expect(history).not.toContain(secret);
});

/** Returns JSON with the bytes of payloads as text. */
function toText(activation: unknown): string {
  return JSON.stringify(activation, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
}
