// What a merchant writes with every entry point, for the compilers to read.

import { DatabaseSync } from 'node:sqlite';
import { setupServer } from 'msw/node';
import {
  type ChargeMobileMoneyInput,
  chargeMobileMoneyInputSchema,
  initializeInputSchema,
  OutcomeUnknownError,
  PaymentsClient,
  type PaymentsClientOptions,
  PaymentsError,
  type PaymentsEvent,
  RateLimitError,
  type ReconcileItem,
  type Transaction,
  transactionSchema,
} from 'payment-collection-client';
import {
  createJournal,
  type Journal,
  type JournalStore,
  memoryJournal,
  memoryStore,
} from 'payment-collection-client/journal';
import { type PostgresClient, postgresJournal } from 'payment-collection-client/journal/postgres';
import {
  type IoRedisClient,
  type NodeRedisClient,
  redisJournal,
} from 'payment-collection-client/journal/redis';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { undiciTransport } from 'payment-collection-client/node';
import { type ParsedGhanaPhone, parseGhanaPhone } from 'payment-collection-client/phone';
import { type Sandbox, startSandbox } from 'payment-collection-client/sandbox';
import { isFinal, nextDelay } from 'payment-collection-client/schedule';
import { createMockPayments, journalConformance } from 'payment-collection-client/testing';
import { Agent, fetch as undiciFetch } from 'undici';
import * as z from 'zod';
import * as mini from 'zod/mini';

const onEvent = (event: PaymentsEvent): void => {
  if (event.type === 'retry') console.log(event.delay);
};
const options: PaymentsClientOptions = {
  apiKey: async () => 'sk_test_x',
  onEvent,
  transport: undiciTransport({ dispatcher: new Agent() }),
};

export const payments = new PaymentsClient({
  ...options,
  journal: sqliteJournal(new DatabaseSync(':memory:')),
});

export function charge(input: ChargeMobileMoneyInput, anyClient: PaymentsClient): unknown[] {
  // @ts-expect-error: this client has a journal, so each charge needs a key
  const missing = payments.chargeMobileMoney(input);
  const onPurpose = payments.chargeMobileMoney(input, { idempotencyKey: null });
  return [missing, onPurpose, payments.initialize(input), anyClient.chargeMobileMoney(input)];
}
export const anyClients: PaymentsClient[] = [payments, new PaymentsClient(options)];

// The runtime's fetch, undici's, and one that wraps either.
export const ownFetches: PaymentsClientOptions[] = [
  { fetch },
  { fetch: undiciFetch },
  { fetch: (url, init) => undiciFetch(url, { ...init, dispatcher: new Agent() }) },
  { fetch: async (url, init) => fetch(new Request(url, init)) },
];

// The schemas are part of a merchant's own.
const orderSchema = mini.extend(chargeMobileMoneyInputSchema, { order: mini.string() });
const formSchema = z.object({ payment: initializeInputSchema, terms: z.literal(true) });
export type Order = mini.infer<typeof orderSchema>;
export type Form = z.input<typeof formSchema>;

export const form: Form = { payment: { amount: '25.50', customer_email: 'ama@example.com' }, terms: true };
export const email: string = formSchema.parse(form).payment.customer_email;
export const wrong: ChargeMobileMoneyInput = {
  amount: 1,
  customer_email: 'ama@example.com',
  phone: '0241234567',
  // @ts-expect-error: no such network
  network: 'vodafone',
};

export async function pay(input: ChargeMobileMoneyInput): Promise<Transaction['status']> {
  try {
    const { reference, message } = await payments.chargeMobileMoney(input, { idempotencyKey: 'order-17' });
    console.log(message);
    const paid = await payments.waitForFinalStatus(reference, { expect: { amount: '25.50' } });
    if (paid.status === 'success') return paid.status satisfies 'success';
    return paid.status;
  } catch (error) {
    if (error instanceof RateLimitError) console.log(error.retryAfter satisfies number | undefined);
    if (error instanceof OutcomeUnknownError) console.log(error.reference?.length, error.cause);
    if (error instanceof PaymentsError)
      console.log(error.outcome satisfies 'not_sent' | 'rejected' | 'unknown' | null);
    throw error;
  }
}

export async function payFromForm(typed: string): Promise<Transaction['status'] | 'not a phone'> {
  const parsed: ParsedGhanaPhone | null = parseGhanaPhone(typed);
  if (!parsed) return 'not a phone';
  const { phone, network } = parsed;
  return pay({ amount: '25.50', customer_email: 'ama@example.com', phone, network: network ?? 'mtn' });
}

export async function poll(reference: string): Promise<number | null> {
  const { final, transaction, retryAfter } = await payments.check(reference);
  transactionSchema.parse(transaction);
  return final || isFinal(transaction.status) ? null : nextDelay({ elapsed: 1000, retryAfter });
}

export async function follow(references: string[]): Promise<void> {
  const items = references.map((reference): ReconcileItem => ({ reference, expect: { amount: '25.50' } }));
  for await (const { reference, transaction, error } of payments.reconcile([...references, ...items])) {
    console.log(reference, transaction?.status, error);
  }
  for await (const { status } of payments.watch('TXN-1')) console.log(status);
}

export async function journals(
  pool: PostgresClient,
  redis: IoRedisClient | NodeRedisClient,
  store: JournalStore,
): Promise<Journal[]> {
  const postgres = postgresJournal(pool);
  await postgres.migrate();
  return [memoryJournal(), createJournal(store), postgres, redisJournal(redis)];
}

export async function tests(): Promise<void> {
  const mock = createMockPayments();
  setupServer(...mock.handlers).close();
  mock.fault('verify', { kind: 'status', status: 502 }, { times: 2 });
  for (const { name, run } of journalConformance(() => memoryStore())) console.log(name, run);
  const sandbox: Sandbox = await startSandbox();
  sandbox.approve('TXN-1');
  await sandbox.close();
}
