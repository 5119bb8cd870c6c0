import type { Client } from '@temporalio/client';
import { looks } from '../shop/settings.ts';
import type { orderWorkflow } from './order-workflow.ts';

export const address = process.env.TEMPORAL_ADDRESS ?? '127.0.0.1:7233';
export const taskQueue = 'orders';

/** The order's id is the workflow's: handing it over again does nothing. */
export async function handOver({ workflow }: Client, id: string): Promise<void> {
  await workflow.start<typeof orderWorkflow>('orderWorkflow', {
    workflowId: id,
    workflowIdConflictPolicy: 'USE_EXISTING',
    taskQueue,
    args: [id, looks],
  });
}
