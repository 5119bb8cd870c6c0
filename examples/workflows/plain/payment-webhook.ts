import { notifyWorker } from './notify-worker.ts';

/** Stands for the service's webhook. */
const [reference = ''] = process.argv.slice(2);
await notifyWorker('/webhooks/payments', { reference });
