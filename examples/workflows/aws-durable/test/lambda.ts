/** Runs one invocation of the function after another, as an environment of Lambda does. A test can kill this process. */
import type { DurableExecutionInvocationInput } from '@aws/durable-execution-sdk-js';
import { handler } from '../order-workflow.ts';

const [runtimeUrl = ''] = process.argv.slice(2);
const functionName = 'order-workflow';

for (;;) {
  const next = await fetch(`${runtimeUrl}/next`);
  const event: DurableExecutionInvocationInput = JSON.parse(await next.text());
  const output = await handler(event, {
    functionName,
    functionVersion: '1',
    invokedFunctionArn: `arn:aws:lambda:eu-west-1:123456789012:function:${functionName}:1`,
    memoryLimitInMB: '256',
    awsRequestId: crypto.randomUUID(),
    logGroupName: functionName,
    logStreamName: functionName,
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => 60_000,
    done: () => {},
    fail: () => {},
    succeed: () => {},
  });
  await fetch(`${runtimeUrl}/response`, { method: 'POST', body: JSON.stringify(output) });
}
