/** What the processes of a shop did, as each logged it right then. */

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { referenceOf } from '../../../src/ledger/payment.ts';
import type { LedgerRecord } from '../../../src/ledger/record.ts';

const eventSchema = z.discriminatedUnion('event', [
  /** A call returned. */
  z.object({
    event: z.literal('called'),
    /** The order or the idempotency key. */
    name: z.string(),
    /** The id of the call, which its charge has too. */
    call: z.string(),
    /** The state of an order, or what came of a call with a key. */
    result: z.string(),
    /** The payment that `paid` names. */
    key: z.optional(z.string()),
    reference: z.optional(z.string()),
  }),
  /** The journal has confirmed a write. */
  z.object({ event: z.literal('written'), key: z.string(), facts: z.array(z.string()) }),
  /** A handler is called. `what` is a status or a reason. */
  z.object({
    event: z.enum(['onFinal', 'onPaid', 'onUnpaid', 'onAttention']),
    name: z.string(),
    key: z.string(),
    what: z.string(),
    reference: z.optional(z.string()),
  }),
  z.object({ event: z.literal('threw'), key: z.string(), what: z.string() }),
  z.object({ event: z.literal('resolved'), key: z.string(), what: z.string() }),
  z.object({ event: z.literal('notified'), reference: z.string() }),
  /** No call is under way, and none will begin. */
  z.object({ event: z.literal('settled') }),
  z.object({ event: z.literal('failed'), message: z.string() }),
]);

export type ShopEvent = z.infer<typeof eventSchema>;

const loggedSchema = z.intersection(eventSchema, z.object({ at: z.number(), generation: z.number() }));

/** `at` is in milliseconds since 1970. */
export type LoggedEvent = z.infer<typeof loggedSchema>;

/** Opens the log of one process. Each writes its own file, so that only the last line can be cut short. */
export function openLog(folder: string, generation: number): (event: ShopEvent) => void {
  const file = join(folder, `${generation}.jsonl`);
  return (event) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), generation, ...event })}\n`);
}

export function readLog(folder: string): LoggedEvent[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => loggedSchema.parse(JSON.parse(line)))
    .sort((one, other) => one.at - other.at);
}

/**
 * Lists what a record must never lose: transactions, decisions of persons, and what handlers were told of an attempt. It begins with
 * the number of the payment.
 */
export function listFacts({ payments }: LedgerRecord): string[] {
  return payments.flatMap((payment, index) => {
    const { attempt, charge, resolutions } = payment;
    const { final, paid, unpaid, attention } = payment.told;
    const heard = [...attention, ...(final ? ['ended', final] : []), paid && 'paid', unpaid && 'unpaid'];
    const isMade = charge.is === 'made' || charge.is === 'closed';
    return [
      isMade && `made ${referenceOf(payment)}`,
      ...resolutions.map(({ id }) => `resolved ${id}`),
      ...heard.map((what) => what && `${attempt} told ${what}`),
    ].flatMap((fact) => (fact ? `${index + 1} ${fact}` : []));
  });
}
