import { LambdaClient, SendDurableExecutionCallbackSuccessCommand } from '@aws-sdk/client-lambda';
import { orders, payments, pool } from './payments.ts';

/** Your webhook's route does this. It trusts nothing in the request: a notification only ends a wait early. */
const [reference = ''] = process.argv.slice(2);
const callbackId = await orders.countNotification(reference);
if (callbackId !== undefined) {
  const lambda = new LambdaClient();
  await lambda
    .send(new SendDurableExecutionCallbackSuccessCommand({ CallbackId: callbackId }))
    // The wait has ended meanwhile: the check comes anyway.
    .catch((error: unknown) => console.error(`The notification did not count: ${String(error)}`));
}
payments.close();
await pool.end();
