import * as z from 'zod/mini';
import { looseObject } from '../contract/loose-object.ts';

/** What is known of a key, whatever its state. No key of the API, phone number or email is among it. */
const baseFields = {
  /** The form of this record, for versions to come. */
  format: z.literal(1),
  operation: z.enum(['initialize', 'chargeMobileMoney']),
  /** A digest of the base URL and the mode that it was meant for. */
  service: z.string(),
  /** A digest of the whole input: the same for the same input under the same key. */
  fingerprint: z.string(),
  /** With two decimals. */
  amount: z.string(),
  currency: z.string(),
};

/** A key's record, as it is kept. A key without one was never used. */
export const journalRecordSchema = z.discriminatedUnion('state', [
  /** About to be sent, or sent. Where nobody renews it any more, whoever began it has died, and a charge may exist. */
  z.object({ ...baseFields, state: z.literal('begun') }),
  /** The service took it. */
  z.object({ ...baseFields, state: z.literal('completed'), result: looseObject({ reference: z.string() }) }),
  /** It is proven that no charge exists: the key may be used again, with any input. */
  z.object({ ...baseFields, state: z.enum(['not_sent', 'rejected']) }),
  /** A charge may exist. Nothing is sent until somebody settles it. */
  z.object({ ...baseFields, state: z.literal('unknown'), reference: z.optional(z.string()) }),
  /** Somebody said that no charge exists: the key is free, for any input. */
  z.object({ ...baseFields, state: z.literal('not_charged') }),
]);

/**
 * What is kept of a key, by its `state`.
 *
 * @useDeclaredType
 */
export type JournalRecord = z.output<typeof journalRecordSchema>;

/** What is about to be sent. */
export type ChargeIntent = Pick<
  JournalRecord,
  'operation' | 'service' | 'fingerprint' | 'amount' | 'currency'
>;

/** How an attempt ended. */
export type Completion =
  | { state: 'completed'; result: { reference: string } }
  | { state: 'not_sent' | 'rejected' }
  | { state: 'unknown'; reference?: string | undefined };
