import { env } from 'cloudflare:workers';
import { PaymentsClient } from 'payment-collection-client';
import { createFollowUps } from 'payment-collection-client/follow-ups';
import { memoryJournal } from 'payment-collection-client/journal';
import { createOrderPayments } from 'payment-collection-client/orders';

const journal = memoryJournal();
const payments = new PaymentsClient({
  baseUrl: env.baseUrl,
  apiKey: env.apiKey,
  journal,
  polling: { initialDelay: 100, minDelay: 100, maxDelay: 100 },
});
const seen = [];
const orderPayments = createOrderPayments({
  payments,
  journal,
  onPaid: ({ order }) => seen.push(`paid ${order}`),
  onAttention: ({ reason }) => seen.push(reason),
});
const followUps = createFollowUps({
  payments,
  journal,
  onFinal: ({ key }) => seen.push(`final ${key}`),
  onAttention: ({ reason }) => seen.push(reason),
});
const charge = { amount: '25.50', customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' };

const actions = {
  charge: (idempotencyKey) => payments.chargeMobileMoney(charge, { idempotencyKey }),
  verify: (reference) => payments.verify(reference),
  wait: (reference) => payments.waitForFinalStatus(reference),
  watch: async (reference) => (await Array.fromAsync(payments.watch(reference))).map(({ status }) => status),
  reconcile: async (reference) =>
    (await Array.fromAsync(payments.reconcile([reference]))).map(({ transaction }) => transaction?.status),
  notify: (reference) => payments.notify(reference) ?? null,
  order: (id) => orderPayments.charge(id, charge),
  waitForOrder: (id) => orderPayments.wait(id),
  sweep: async () => {
    await orderPayments.sweep();
    await followUps.sweep();
    return seen;
  },
};

export default {
  async fetch(request) {
    const [, action, argument] = new URL(request.url).pathname.split('/');
    return Response.json(await actions[action](argument));
  },
};
