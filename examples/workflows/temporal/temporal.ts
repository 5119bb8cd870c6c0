import type { Client } from '@temporalio/client';
import { checkSchedule } from '../shop/settings.ts';
import type { orderWorkflow } from './order-workflow.ts';

export const address = process.env.TEMPORAL_ADDRESS ?? '127.0.0.1:7233';
export const taskQueue = 'orders';

/** Starts the order's workflow. The order's id is its id, so a second call does nothing. */
export async function submitOrder({ workflow }: Client, id: string): Promise<void> {
  await workflow.start<typeof orderWorkflow>('orderWorkflow', {
    workflowId: id,
    workflowIdConflictPolicy: 'USE_EXISTING',
    taskQueue,
    args: [id, checkSchedule],
  });
}
