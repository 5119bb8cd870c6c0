import { DBOS } from '@dbos-inc/dbos-sdk';
import { timeout } from '../shop/settings.ts';
import { orderWorkflow } from './order-workflow.ts';
import { journal, orders } from './payments.ts';
import { application, databaseUrl, executorID, queue } from './settings.ts';

DBOS.setConfig({
  name: application,
  systemDatabaseUrl: databaseUrl,
  executorID,
  // DBOS would make one of the workflow's source, and a new release would leave alone the orders of the old one.
  applicationVersion: '1',
  logLevel: 'warn',
});

await journal.migrate();
// This takes up the orders that a killed worker of this name had.
await DBOS.launch();
await DBOS.registerQueue(queue);

// An order that was written down, and whose hand-over was lost.
for (const { id } of orders.in('placed'))
  await DBOS.startWorkflow(orderWorkflow, { workflowID: id, queueName: queue })(id);

console.log('ready');

process.once('SIGTERM', async () => {
  // Long enough for a charge that is under way: one that is cut off would be left to a person.
  await DBOS.shutdown({ workflowCompletionTimeoutMS: timeout });
  process.exit();
});
