import { InvocationType, InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { NewOrder } from '../shop/orders.ts';
import { orders, payments, pool } from './payments.ts';
import { functionName } from './settings.ts';

/**
 * Your checkout's route does this. Without an argument it submits the orders that were stored and never submitted: run that
 * from a schedule.
 */
const [json] = process.argv.slice(2);
const lambda = new LambdaClient();

if (json !== undefined) {
  const order: NewOrder = JSON.parse(json);
  await orders.place(order);
  await submit(order.id);
} else for (const id of await orders.listPlaced()) await submit(id);
payments.close();
await pool.end();

/** Starts the order's workflow. The order's id is the name of the execution, so a second call does nothing. */
async function submit(id: string): Promise<void> {
  await lambda.send(
    new InvokeCommand({
      FunctionName: functionName,
      InvocationType: InvocationType.Event,
      DurableExecutionName: id,
      Payload: JSON.stringify({ id }),
    }),
  );
}
