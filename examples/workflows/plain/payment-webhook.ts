import { tellWorker } from './tell-worker.ts';

/** Plays the service's webhook. */
const [reference = ''] = process.argv.slice(2);
await tellWorker('/webhooks/payments', { reference });
