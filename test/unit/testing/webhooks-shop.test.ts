import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebhookFault } from '../../../src/testing/index.ts';
import { parseWebhook } from './receive-webhooks.ts';
import { charge, startMock, useFakeClock } from './start-mock.ts';

beforeEach(() => useFakeClock());

/** When the customer acts. The first poll without a webhook is at 8 s. */
const CUSTOMER_ACTS = 2_000;

/** Opens a shop that only ever notifies, and that ships an order once its wait says so. */
function openShop() {
  const { mock, payments } = startMock();
  const openedAt = Date.now();
  const actions: string[] = [];
  mock.webhooks.deliverTo(async (request) => {
    const { data } = await parseWebhook(request);
    payments.notify(data.reference);
  });
  const sell = async () => {
    const { reference } = await payments.chargeMobileMoney(charge);
    const wait = payments.waitForFinalStatus(reference, { expect: { amount: '25.50', currency: 'GHS' } });
    wait.then(
      ({ status }) => {
        const does = status === 'success' ? 'ships' : 'cancels';
        actions.push(`${does} ${reference} after ${Math.floor((Date.now() - openedAt) / 1_000)} s`);
      },
      (error: unknown) => actions.push(String(error)),
    );
    return reference;
  };
  return { mock, actions, sell };
}

describe('a shop that notifies', () => {
  test('ships as soon as the webhook comes', async () => {
    const { mock, actions, sell } = openShop();
    const reference = await sell();
    await vi.advanceTimersByTimeAsync(CUSTOMER_ACTS);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(1);
    expect(actions).toEqual([`ships ${reference} after ${CUSTOMER_ACTS / 1_000} s`]);
  });

  test.each<[WebhookFault, number]>([
    [{ kind: 'late' }, 8],
    [{ kind: 'late', delay: 1_000 }, 3],
    [{ kind: 'lost' }, 8],
    [{ kind: 'twice' }, 2],
    [{ kind: 'forged', status: 'failed' }, 2],
    [{ kind: 'forged', amount: '0.01' }, 2],
    [{ kind: 'forged', reference: 'TXN-999999' }, 2],
    [{ kind: 'early' }, 8],
  ])('ships once with the fault %j, after %d s', async (fault, time) => {
    const { mock, actions, sell } = openShop();
    const reference = await sell();
    mock.webhooks.fault(fault);
    await vi.advanceTimersByTimeAsync(CUSTOMER_ACTS);
    mock.approve(reference);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(actions).toEqual([`ships ${reference} after ${time} s`]);
  });

  test('ships nothing for a forged success of a pending payment', async () => {
    const { mock, actions, sell } = openShop();
    const reference = await sell();
    await vi.advanceTimersByTimeAsync(CUSTOMER_ACTS);
    mock.webhooks.send(reference, { status: 'success' });
    await mock.webhooks.flush();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(mock.webhooks.deliveries).toMatchObject([{ fault: 'forged', state: 'delivered' }]);
    expect(actions).toEqual([]);
    mock.decline(reference);
    await vi.advanceTimersByTimeAsync(1);
    expect(actions).toEqual([`cancels ${reference} after 32 s`]);
  });

  test('ships nothing for a forged success of a declined payment', async () => {
    const { mock, actions, sell } = openShop();
    const reference = await sell();
    mock.webhooks.fault({ kind: 'forged' });
    await vi.advanceTimersByTimeAsync(CUSTOMER_ACTS);
    mock.decline(reference);
    await vi.advanceTimersByTimeAsync(1);
    expect(mock.webhooks.deliveries).toMatchObject([{ body: { event: 'transaction.success' } }, {}]);
    expect(actions).toEqual([`cancels ${reference} after ${CUSTOMER_ACTS / 1_000} s`]);
  });
});
