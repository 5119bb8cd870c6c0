import { PaymentsClient } from 'payment-collection-client';
import { fromD1, sqliteJournal } from 'payment-collection-client/journal/sqlite';
import type { Env } from './env.ts';

/** Cloudflare retries by itself. Retries inside its retries would multiply, and its dashboard would not show them. */
export function createPayments(env: Env): PaymentsClient {
  return new PaymentsClient({
    baseUrl: env.PAYMENTS_BASE_URL,
    apiKey: env.PAYMENTS_API_KEY,
    timeout: Number(env.PAYMENTS_TIMEOUT ?? 15_000),
    maxRetries: 0,
    journal: sqliteJournal(fromD1(env.DB), { lease: Number(env.JOURNAL_LEASE ?? 10_000) }),
  });
}
