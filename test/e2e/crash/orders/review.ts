import * as z from 'zod';
import { JournalError, type PaymentsClient } from '../../../../src/index.ts';
import { getRecords } from '../../../../src/journal/core.ts';
import type { Journal, Resolution } from '../../../../src/journal/index.ts';
import { namePayment } from '../../../../src/journal/names.ts';
import { type Attention, listAttention } from '../../../../src/ledger/order.ts';
import type { Payment } from '../../../../src/ledger/record.ts';
import { note } from '../../../helpers/resolution-note.ts';
import { createPageUrl } from './service.ts';

interface Review {
  readonly payments: PaymentsClient;
  readonly journal: Journal;
  readonly baseUrl: string;
  readonly log: (event: { event: 'resolved'; key: string; reason: string }) => void;
}

/** After so long a request has arrived at the service, if it was sent at all. In milliseconds. */
const ARRIVED_AFTER = 2_000;

/** How long an attempt takes at most, in milliseconds. */
const MAX_ATTEMPT = 6_000;

/**
 * Plays the people who look at what needs one, in a process that is killed. Others decide at the same time. What was paid at an
 * earlier price counts in every second order.
 */
export async function reviewAll(review: Review): Promise<void> {
  const records = getRecords(review.journal);
  for await (const { found } of records.list('attentionAt')) {
    if (!found) throw new Error('A record cannot be read.');
    for (const attention of listAttention(found.record, records.now)) {
      const payment = found.record.payments[attention.number - 1];
      const key = namePayment(found.name, attention.number);
      const resolution = payment && (await decide(review, key, payment, attention, records.now));
      if (resolution) await resolve(review, key, resolution, attention.reason);
    }
  }
}

async function decide(
  { baseUrl }: Review,
  key: string,
  { charge, createdAt, operation, requestIds }: Payment,
  { reason, since }: Attention,
  now: number,
): Promise<Resolution | undefined> {
  if (reason === 'price_changed') return isOdd(key) ? 'accepted' : undefined;
  // The handler has heard of it by then.
  if (reason === 'paid_twice') return isOdd(key) && now > since + MAX_ATTEMPT ? 'closed' : undefined;
  if (reason !== 'unresolved') return undefined;
  const overAt = charge.is === 'sending' ? charge.until : createdAt + MAX_ATTEMPT;
  if (now < overAt + ARRIVED_AFTER) return undefined;
  const reference = await findTransaction(baseUrl, requestIds);
  if (reference === null) return 'not_charged';
  return operation === 'initialize' ? { reference, checkout_url: createPageUrl(reference) } : { reference };
}

const isOdd = (key: string) => /[13579]\/\d+$/.test(key);

/** Asks the support of the service. */
async function findTransaction(baseUrl: string, requestIds: readonly string[]): Promise<string | null> {
  const url = new URL('/found', baseUrl);
  for (const id of requestIds) url.searchParams.append('id', id);
  const found = await (await fetch(url)).json();
  return z.object({ reference: z.nullable(z.string()) }).parse(found).reference;
}

async function resolve({ payments, log }: Review, key: string, resolution: Resolution, reason: string) {
  try {
    await payments.resolve(key, resolution, note);
    log({ event: 'resolved', key, reason });
  } catch (error) {
    // It was resolved, checked or charged meanwhile.
    if (!(error instanceof JournalError)) throw error;
  }
}
