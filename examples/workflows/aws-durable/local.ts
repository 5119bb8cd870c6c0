import { LocalDurableTestRunner } from '@aws/durable-execution-sdk-js-testing';
import type { NewOrder } from '../shop/orders.ts';
import { handler } from './order-workflow.ts';
import { journal, orders, payments, pool } from './payments.ts';

/** Runs the workflow of one order on this machine, without AWS. It ends when the order ends. */
const order: NewOrder = JSON.parse(process.argv[2] ?? '');
await journal.migrate();
await orders.createTables();
await orders.place(order);
await LocalDurableTestRunner.setupTestEnvironment({ skipTime: false });
const runner = new LocalDurableTestRunner({ handlerFunction: handler });
const execution = await runner.run({ payload: { id: order.id } });
execution.print({ name: true, type: true, status: true, duration: true });
console.log(`${order.id} is ${(await orders.get(order.id)).state}.`);
await LocalDurableTestRunner.teardownTestEnvironment();
payments.close();
await pool.end();
