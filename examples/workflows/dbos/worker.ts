import { DBOS } from '@dbos-inc/dbos-sdk';
import { timeout } from '../shop/settings.ts';
import { orderWorkflow } from './order-workflow.ts';
import { journal, orders } from './payments.ts';
import { application, databaseUrl, executorID, queue } from './settings.ts';

DBOS.setConfig({
  name: application,
  systemDatabaseUrl: databaseUrl,
  executorID,
  // By default it is a hash of the workflow's source, and a new release does not continue the orders of the old one.
  applicationVersion: '1',
  logLevel: 'warn',
});

await journal.migrate();
// This continues the orders of a killed worker with this name.
await DBOS.launch();
await DBOS.registerQueue(queue);

// An order might be stored and not submitted: the shop crashed in between.
for (const { id } of orders.listByState('placed'))
  await DBOS.startWorkflow(orderWorkflow, { workflowID: id, queueName: queue })(id);

console.log('ready');

process.once('SIGTERM', async () => {
  // Long enough for a running charge: one that is interrupted would need a manual review.
  await DBOS.shutdown({ workflowCompletionTimeoutMS: timeout });
  process.exit();
});
