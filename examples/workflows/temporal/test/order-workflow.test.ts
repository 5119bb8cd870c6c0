import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { parseWorkflowCode } from '@temporalio/worker/lib/worker.js';
import { VMWorkflowCreator } from '@temporalio/worker/lib/workflow/vm.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { usualLooks } from '../../shop/looks.ts';
import { openShop } from './shop.ts';
import { logger, replayed, SimulatedRun } from './simulated-run.ts';

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
  const begin = () => SimulatedRun.start(creator, shop.activities, ['order-1', usualLooks]);
  return { ...shop, begin };
}

test("Temporal's bundler takes the workflow with the schedule, and nothing of Node or of the client", () => {
  const holds = (text: string) => bundle.includes(text);
  expect(holds('nextDelay: elapsed and every option must be milliseconds.')).toBe(true);
  // It refuses modules of Node by itself: nothing may stand in for them here.
  expect(['"node:', "'node:", 'dangerouslyAllowBrowser', 'ZodError'].filter(holds)).toEqual([]);
});

test('an order is charged, looked at, and fulfilled once it is paid', async () => {
  const { begin, sandbox, orders, reference } = await start();
  const run = await begin();
  expect(run.pauses).toEqual([8_000]);
  await run.nextTimer();
  await run.nextTimer();
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.result).toBe('fulfilled');
  expect(run.ran).toEqual(['charge', 'look', 'look', 'look']);
  expect(orders.parcels('order-1')).toBe(1);
});

test('a declined payment releases the order', async () => {
  const { begin, sandbox, reference } = await start();
  const run = await begin();
  sandbox.decline(reference());
  await run.nextTimer();
  expect(run.result).toBe('released');
});

test('after ten minutes the goods are released, and a payment that comes later is seen within an hour', async () => {
  const { begin, sandbox, order, reference } = await start();
  const run = await begin();
  await run.timersUntil(() => order().state === 'released');
  expect(run.elapsed).toBe(10 * minutes);
  expect(run.ran.at(-2)).toBe('look');
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.elapsed - 10 * minutes).toBeLessThanOrEqual(hours);
  expect(run.result).toBe('paid_late');
  expect(sandbox.charges).toHaveLength(1);
});

test('after a day without an end the looks end, and the order stays released', async () => {
  const { begin, order } = await start();
  const run = await begin();
  await run.timersUntil(() => false);
  expect(run.result).toBe('released');
  expect(order().state).toBe('released');
  expect(run.elapsed).toBe(24 * hours);
  expect(run.ran.filter((name) => name === 'release')).toHaveLength(1);
  // Temporal suggests a new run from some 4,000 events on; a look is about eleven.
  expect(run.ran.length * 11).toBeLessThan(2_000);
});

test('a charge whose answer is lost leaves the order to a person, and is not tried again', async () => {
  const { begin, sandbox, order } = await start();
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  const run = await begin();
  expect(run.result).toBe('parked');
  expect(run.ran).toEqual(['charge: InDoubt', 'park']);
  expect(order()).toMatchObject({ state: 'parked', note: expect.stringContaining('A charge might exist') });
  expect(sandbox.requests).toHaveLength(1);
});

test('a charge that is refused ends the order', async () => {
  const { begin, sandbox, order } = await start();
  sandbox.fault('chargeMobileMoney', { kind: 'status', status: 422 });
  const run = await begin();
  expect(run.result).toBe('refused');
  expect(run.ran).toEqual(['charge: Refused', 'refuse']);
  expect(order().state).toBe('refused');
});

test('a look that fails for a passing reason is made again; one that fails for good parks the order', async () => {
  const { begin, sandbox, order } = await start();
  const run = await begin();
  sandbox.fault('verify', { kind: 'status', status: 503 }, { times: 2 });
  await run.nextTimer();
  expect(run.ran).toEqual(['charge', 'look: ServerError', 'look: ServerError', 'look']);
  sandbox.fault('verify', { kind: 'status', status: 403 });
  await run.nextTimer();
  expect(run.result).toBe('parked');
  expect(order().state).toBe('parked');
});

test('a payment of another amount leaves the order to a person', async () => {
  const { begin, sandbox, orders, reference } = await start();
  const run = await begin();
  sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.result).toBe('parked');
  expect(orders.parcels('order-1')).toBe(0);
});

test('each hint brings one look forward, and none is believed', async () => {
  const { begin, sandbox, order, reference } = await start();
  const run = await begin();
  await run.signal('hint');
  await run.signal('hint');
  expect(run.ran).toEqual(['charge', 'look', 'look']);
  expect(order().state).toBe('waiting');
  sandbox.approve(reference());
  await run.signal('hint');
  expect(run.result).toBe('fulfilled');
  expect(run.elapsed).toBe(0);
});

test('a pause that the service asks for is kept', async () => {
  const { activities } = await start();
  const look = async () => ({ state: null, retryAfter: 40_000 });
  const run = await SimulatedRun.start(creator, { ...activities, look }, ['order-1', usualLooks]);
  await run.nextTimer();
  expect(run.pauses).toEqual([8_000, 40_000]);
});

test('a workflow that somebody cancels leaves its order to a person', async () => {
  const { begin, order } = await start();
  const run = await begin();
  await run.cancel();
  expect(run.result).toBe('parked');
  expect(order().state).toBe('parked');
});

test('a fault in the code of the workflow is no failure of the order: its task fails, until it is mended', async () => {
  const { activities, order } = await start();
  const broken = { soon: { minDelay: 'three seconds' }, late: {} };
  await expect(SimulatedRun.start(creator, activities, ['order-1', broken])).rejects.toThrow('milliseconds');
  expect(order().state).toBe('waiting');
});

test('a replay asks for what the run asked for', async () => {
  const { begin, sandbox, reference } = await start();
  const run = await begin();
  await run.nextTimer();
  await run.signal('hint');
  await run.timersUntil(() => run.elapsed >= 10 * minutes);
  sandbox.approve(reference());
  await run.nextTimer();
  expect(run.result).toBe('paid_late');
  expect(await replayed(creator, run.history)).toEqual(run.history.map(({ asked }) => asked));
});

test("the history holds neither the customer's phone nor email, nor the key", async () => {
  const { begin, sandbox, order, reference } = await start();
  const run = await begin();
  await run.nextTimer();
  sandbox.fault('verify', { kind: 'status', status: 403 });
  await run.nextTimer();
  expect(run.ran).toEqual(['charge', 'look', 'look: InDoubt', 'park']);
  const history = run.history.map(({ told, asked }) => text(told) + asked).join('\n');
  expect(history).toContain(reference());
  for (const secret of [order().phone, order().customer_email, sandbox.liveKey])
    expect(history).not.toContain(secret);
});

/** With the bytes of payloads as text. */
function text(told: unknown): string {
  return JSON.stringify(told, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
}
