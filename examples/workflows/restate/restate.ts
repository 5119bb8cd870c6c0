import * as clients from '@restatedev/restate-sdk-clients';
import { looks } from '../shop/settings.ts';
import type { OrderWorkflow } from './order-workflow.ts';

const url = process.env.RESTATE_INGRESS ?? 'http://127.0.0.1:8080';

/** The order's id is the key: handing it over again does nothing. */
export async function handOver(id: string, retry: clients.ConnectionOpts['retry'] = true): Promise<void> {
  await clients
    .connect({ url, retry })
    .workflowClient<OrderWorkflow>({ name: 'order' }, id)
    .workflowSubmit(looks);
}

/** However many hints come, one a second counts. One way: the webhook is answered also while no worker is up. */
export async function sendHint(id: string): Promise<void> {
  const opts = clients.rpc.sendOpts<void>({ idempotencyKey: `second ${Math.floor(Date.now() / 1000)}` });
  await clients
    .connect({ url })
    .send({ service: 'order', key: id, handler: 'hint', parameter: undefined, opts });
}
