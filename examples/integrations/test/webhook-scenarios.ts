import type { PaymentsClientOptions } from 'payment-collection-client';
import type { Sandbox } from 'payment-collection-client/sandbox';
import { describe, expect, it, vi } from 'vitest';
import type { OrderState } from '../shop/orders.ts';

type PollingOptions = NonNullable<PaymentsClientOptions['polling']>;

/** An order whose customer was sent to the checkout page. */
export interface OpenOrder {
  readonly id: string;
  readonly reference: string;
  /** The customer comes back, which makes the shop check. */
  returns(): Promise<unknown>;
}

/** A shop that receives the webhooks of a sandbox. */
export interface WebhookShop {
  readonly sandbox: Sandbox;
  pay(): Promise<OpenOrder>;
  readState(order: OpenOrder): OrderState | undefined;
}

/** Longer than any test. */
const NEVER = 900_000;

const pollEvery = (interval: number): PollingOptions => ({
  initialDelay: interval,
  minDelay: interval,
  maxDelay: interval,
  timeout: 9_000_000,
});

/** Defines the tests of what a shop does with the webhooks of the sandbox, which can be wrong in every way. */
export function describeWebhooks(name: string, open: (polling: PollingOptions) => Promise<WebhookShop>) {
  /** Opens a shop in which, by default, only a webhook or the customer's return causes a check. */
  async function start(interval = NEVER) {
    const shop = await open(pollEvery(interval));
    const { sandbox, readState } = shop;
    const waitForState = (order: OpenOrder, state: OrderState) =>
      vi.waitFor(() => expect(readState(order)).toBe(state), { timeout: 30_000 });
    const countChecks = ({ reference }: OpenOrder) =>
      sandbox.requests.filter(({ path }) => path === `/transactions/verify/${reference}`).length;
    /** Waits until the shop has checked a payment once more, which must not change the order. */
    const waitForVainCheck = async (order: OpenOrder, act: () => unknown) => {
      const before = countChecks(order);
      await act();
      await vi.waitFor(() => expect(countChecks(order)).toBe(before + 1), { timeout: 30_000 });
      await order.returns();
      expect(readState(order)).toBe('paying');
    };
    return { ...shop, countChecks, waitForState, waitForVainCheck };
  }

  describe(name, () => {
    it.each([
      ['approve', 'paid'],
      ['decline', 'not_paid'],
      ['abandon', 'not_paid'],
    ] as const)("checks after the sandbox's webhook: %s", async (end, state) => {
      const { sandbox, pay, waitForState } = await start();
      const order = await pay();
      sandbox[end](order.reference);
      await waitForState(order, state);
      await sandbox.webhooks.flush();
      expect(sandbox.webhooks.deliveries).toMatchObject([
        { reference: order.reference, state: 'delivered', attempts: [{ status: 204 }] },
      ]);
    });

    it('waits for a late webhook', async () => {
      const { sandbox, pay, readState, waitForState } = await start();
      const order = await pay();
      sandbox.webhooks.fault({ kind: 'late', delay: 600_000 });
      sandbox.approve(order.reference);
      expect(readState(order)).toBe('paying');
      sandbox.advance(600_000);
      await waitForState(order, 'paid');
    });

    it('takes a webhook that comes twice as one', async () => {
      const { sandbox, pay, readState, waitForState } = await start();
      const order = await pay();
      sandbox.webhooks.fault({ kind: 'twice' });
      sandbox.approve(order.reference);
      await waitForState(order, 'paid');
      await sandbox.webhooks.flush();
      const delivered = { reference: order.reference, state: 'delivered', attempts: [{ status: 204 }] };
      expect(sandbox.webhooks.deliveries).toMatchObject([delivered, delivered]);
      expect(readState(order)).toBe('paid');
    });

    it('keeps an order paid if an older webhook comes after the newer one', async () => {
      const { sandbox, pay, readState, waitForState } = await start();
      const order = await pay();
      sandbox.webhooks.fault({ kind: 'late' });
      sandbox.abandon(order.reference);
      sandbox.approve(order.reference);
      await waitForState(order, 'paid');
      await sandbox.webhooks.flush();
      expect(sandbox.webhooks.deliveries).toMatchObject([
        { body: { event: 'transaction.abandoned' }, state: 'delivered' },
        { body: { event: 'transaction.success' }, state: 'delivered' },
      ]);
      await order.returns();
      expect(readState(order)).toBe('paid');
    });

    it('finds a payment whose webhook is lost when the customer returns', async () => {
      const { sandbox, pay, readState } = await start();
      const order = await pay();
      sandbox.webhooks.fault({ kind: 'lost' });
      sandbox.approve(order.reference);
      await sandbox.webhooks.flush();
      expect(sandbox.webhooks.deliveries).toMatchObject([{ state: 'lost', attempts: [] }]);
      expect(readState(order)).toBe('paying');
      await order.returns();
      expect(readState(order)).toBe('paid');
    });

    it('never takes an order as paid because a webhook says so', async () => {
      const { sandbox, pay, waitForState, waitForVainCheck } = await start();
      const order = await pay();
      await waitForVainCheck(order, () => sandbox.webhooks.send(order.reference, { status: 'success' }));
      sandbox.webhooks.fault({ kind: 'forged', status: 'success' });
      sandbox.decline(order.reference);
      await waitForState(order, 'not_paid');
    });

    it('ignores the amount of a webhook', async () => {
      const { sandbox, pay, waitForState } = await start();
      const order = await pay();
      sandbox.webhooks.fault({ kind: 'forged', amount: '2.55' });
      sandbox.approve(order.reference);
      await waitForState(order, 'paid');
    });

    it('holds an order for review if another amount was paid', async () => {
      const { sandbox, pay, waitForState } = await start();
      const order = await pay();
      sandbox.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      sandbox.approve(order.reference);
      await waitForState(order, 'in_review');
    });

    it('checks the order that a forged webhook names, and changes neither', async () => {
      const { sandbox, pay, readState, waitForState, waitForVainCheck } = await start();
      const [order, other] = [await pay(), await pay()];
      sandbox.webhooks.fault({ kind: 'forged', reference: other.reference, status: 'success' });
      await waitForVainCheck(other, () => sandbox.approve(order.reference));
      await waitForState(order, 'paid');
      sandbox.webhooks.send(order.reference, { reference: 'TXN-OF-NOBODY' });
      await sandbox.webhooks.flush();
      expect([order, other].map(readState)).toEqual(['paid', 'paying']);
    });

    it('checks again after a webhook that came before its status', async () => {
      const { sandbox, pay, readState, countChecks, waitForState } = await start(1_000);
      const order = await pay();
      sandbox.webhooks.fault({ kind: 'early', delay: 600_000 });
      sandbox.approve(order.reference);
      await vi.waitFor(() => expect(countChecks(order)).toBeGreaterThan(0), { timeout: 30_000 });
      await sandbox.webhooks.flush();
      expect(sandbox.webhooks.deliveries).toMatchObject([
        { body: { event: 'transaction.success' }, state: 'delivered' },
      ]);
      await order.returns();
      expect(readState(order)).toBe('paying');
      sandbox.advance(600_000);
      await waitForState(order, 'paid');
    });
  });
}
