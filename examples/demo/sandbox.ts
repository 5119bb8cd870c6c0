import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PaymentsClient } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { createOrderPayments, type OrderPayments, type OrderStatus } from 'payment-collection-client/orders';
import type { Sandbox } from 'payment-collection-client/sandbox';
import { printHeading, printLine, printNote } from './screen.ts';

const email = { customer_email: 'ama@example.com' };
const ownPhone = { phone: '024 412 3456', network: 'mtn' } as const;
const otherPhone = { phone: '020 412 3456', network: 'telecel' } as const;

/** Pays four orders on the sandbox: what can go wrong, and what is sent then. It asserts each outcome. */
export async function runSandboxDemo(sandbox: Sandbox): Promise<void> {
  const journal = memoryJournal();
  await using payments = new PaymentsClient({
    baseUrl: sandbox.baseUrl,
    // The live key, because charging Mobile Money works in live mode only.
    apiKey: sandbox.liveKey,
    journal,
    // Faster than in a shop, so that the demo is short.
    polling: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 2_000 },
  });
  const orderPayments = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  printNote(`payment-collection-client/sandbox listens on ${sandbox.baseUrl}`);
  await pressTwice(orderPayments, sandbox);
  await declineFirst(orderPayments, sandbox);
  await loseResponse(payments, orderPayments, sandbox);
  await killProcess(sandbox);
  sandbox.expectNoDoubleCharge();
}

async function pressTwice(orderPayments: OrderPayments, sandbox: Sandbox): Promise<void> {
  printHeading('1. A double click');
  sandbox.settleAfter('next', 2_500, 'success');
  const press = () => orderPayments.charge('1', { amount: '25.50', ...email, ...ownPhone });
  const [first, second] = await Promise.all([press(), press()]);
  printStatus('first press', first);
  printStatus('second press', second);
  assert.equal(sandbox.charges.length, 1);
  printLine('the service made one charge, and the customer approves it');
  await waitUntilPaid(orderPayments, '1');
}

async function declineFirst(orderPayments: OrderPayments, sandbox: Sandbox): Promise<void> {
  printHeading('2. The customer declines, and pays with another number');
  sandbox.settleAfter('next', 1_500, 'failed');
  await orderPayments.charge('2', { amount: '40.00', ...email, ...ownPhone });
  printStatus('declined', await orderPayments.wait('2'));
  sandbox.settleAfter('next', 1_500, 'success');
  printStatus(
    'another number',
    await orderPayments.charge('2', { amount: '40.00', ...email, ...otherPhone }),
  );
  await waitUntilPaid(orderPayments, '2');
}

async function loseResponse(
  payments: PaymentsClient,
  orderPayments: OrderPayments,
  sandbox: Sandbox,
): Promise<void> {
  printHeading('3. A response is lost, and a person finds the charge');
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  const press = () => orderPayments.charge('3', { amount: '60.00', ...email, ...ownPhone });
  const charged = sandbox.charges.length;
  printStatus('the connection breaks', await press());
  printStatus('pressed again', await press());
  assert.equal(sandbox.charges.length - charged, 1);
  const reference = sandbox.charges.at(-1)?.reference;
  assert(reference);
  const note = { by: 'ama@shop.example', reason: 'found in the records of the sandbox' };
  await payments.resolve('3/1', { reference }, note);
  printStatus(`resolved with ${reference}`, await orderPayments.read('3'));
  sandbox.approve(reference);
  await waitUntilPaid(orderPayments, '3');
}

async function killProcess(sandbox: Sandbox): Promise<void> {
  printHeading('4. The process is killed, and another one starts');
  const folder = await mkdtemp(join(tmpdir(), 'demo-'));
  try {
    const charged = sandbox.charges.length;
    const killed = startShop(sandbox, folder);
    for await (const line of killed.lines) {
      printLine(line);
      killed.child.kill('SIGKILL');
    }
    await killed.ended;
    const reference = sandbox.charges.at(-1)?.reference;
    assert(reference);
    printLine('killed. The customer approves, and presses "Pay" again in another process');
    sandbox.approve(reference);
    const restarted = startShop(sandbox, folder);
    const printed: string[] = [];
    for await (const line of restarted.lines) {
      printLine(line);
      printed.push(line);
    }
    assert.deepEqual(await restarted.ended, [0, null]);
    assert.equal(printed.at(-1), 'deliver order 4');
    assert.equal(sandbox.charges.length - charged, 1);
    printLine('the service made one charge');
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts a process of the shop, with a journal in the folder. */
function startShop(sandbox: Sandbox, folder: string) {
  const shop = join(import.meta.dirname, 'shop.ts');
  const child = spawn(process.execPath, ['--no-warnings', shop, join(folder, 'payments.db')], {
    env: { ...process.env, PAYMENTS_BASE_URL: sandbox.baseUrl, PAYMENTS_API_KEY: sandbox.liveKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, lines: createInterface({ input: child.stdout }), ended: once(child, 'close') };
}

async function waitUntilPaid(orderPayments: OrderPayments, order: string): Promise<void> {
  const status = await orderPayments.wait(order);
  assert.equal(status.state, 'paid');
  printStatus('final', status);
}

function printStatus(what: string, status: OrderStatus): void {
  const payment = status.state === 'unpaid' ? status.payments.at(-1) : status.payment;
  printLine(`${what}: order ${status.order} is ${status.state}, payment ${payment?.key}`);
}
