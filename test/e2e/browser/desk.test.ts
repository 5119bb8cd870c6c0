import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createControls } from '../../../src/developers/mock/controls.ts';
import { PaymentService } from '../../../src/developers/service/service.ts';
import { Webhooks } from '../../../src/developers/service/webhooks.ts';
import { PaymentsClient } from '../../../src/index.ts';
import { createReviewDesk } from '../../../src/operators/desk/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { createResetError } from '../../helpers/scripted-service.ts';
import { API_KEY, charge as momo } from '../../helpers/service.ts';
import { KOFI } from '../../unit/operators/desk/open-desk.ts';
import { checkView } from './check-view.ts';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

const BASE_URL = 'https://payments.example/api/v1';

/** Serves the desk of a shop on loopback, as an admin mounts it. Its time is real, as that of the browser is. */
async function serveDesk() {
  const payment = new PaymentService({
    baseUrl: BASE_URL,
    apiKeys: [API_KEY],
    allowTestCharges: true,
    checkoutBase: 'https://payments.example',
  });
  const service = createControls(payment, new Webhooks({ sender: 'mock', clock: payment.clock }));
  const journal = memoryJournal();
  const payments = new PaymentsClient({
    apiKey: API_KEY,
    baseUrl: BASE_URL,
    maxRetries: 0,
    polling: { initialDelay: 1, minDelay: 1 },
    journal,
    fetch: async (input, init) => {
      const response = await payment.handle(new Request(input, init));
      if (response.type === 'error') throw createResetError();
      return response;
    },
  });
  onTestFinished(() => payments.close());
  const orders = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  const desk = createReviewDesk({ payments, journal, orderPayments: orders, authorize: () => KOFI });
  const server = createServer(getRequestListener(desk, { overrideGlobalObjects: false }));
  const url = `http://127.0.0.1:${await listenForTest(server)}/admin/payments`;
  const loseResponse = async (order: string) => {
    service.fault('chargeMobileMoney', { kind: 'responseLost' });
    await orders.charge(order, momo);
    return service.transactions.at(-1)?.reference ?? '';
  };
  return { service, orders, url, loseResponse };
}

describe.skipIf(isChromiumMissing)('the desk in Chromium', () => {
  const open = useBrowser();

  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('is legible and fits at %i, %s', async (width, colorScheme) => {
    const { service, orders, url, loseResponse } = await serveDesk();
    await loseResponse(`an-order-id-that-is-very-long-${'x'.repeat(120)}`);
    await orders.charge('17', momo);
    await orders.charge('17', { ...momo, amount: '30.00' });
    service.approve((await orders.read('17')).payments[0]?.reference ?? '');
    await orders.wait('17', { timeout: 60_000 });
    const { page, problems } = await open(url, { colorScheme, viewport: { width, height: 900 } });
    await checkView(page, width);
    await page.goto(`${url}?order=17`);
    await checkView(page, width);
    expect(problems).toEqual([]);
  });
});
