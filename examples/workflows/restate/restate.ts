import * as clients from '@restatedev/restate-sdk-clients';
import { checkSchedule } from '../shop/settings.ts';
import type { OrderWorkflow } from './order-workflow.ts';

const url = process.env.RESTATE_INGRESS ?? 'http://127.0.0.1:8080';

/** Submits the order's workflow. The order's id is its key, so a second call does nothing. */
export async function submitOrder(id: string, retry: clients.ConnectionOpts['retry'] = true): Promise<void> {
  await clients
    .connect({ url, retry })
    .workflowClient<OrderWorkflow>({ name: 'order' }, id)
    .workflowSubmit(checkSchedule);
}

/** Sends a notification; at most one a second counts. It waits for no worker, so the webhook gets its response at once. */
export async function sendNotification(id: string): Promise<void> {
  const opts = clients.rpc.sendOpts<void>({ idempotencyKey: `second ${Math.floor(Date.now() / 1000)}` });
  await clients
    .connect({ url })
    .send({ service: 'order', key: id, handler: 'notify', parameter: undefined, opts });
}
