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
    reference: z.optional(z.string()),
  }),
  /** The journal has confirmed a write. */
  z.object({ event: z.literal('written'), key: z.string(), facts: z.array(z.string()) }),
  /** A handler is called. `what` is a status. */
  z.object({
    event: z.enum(['onFinal', 'onPaid']),
    name: z.string(),
    key: z.string(),
    what: z.string(),
    reference: z.string(),
  }),
  z.object({ event: z.literal('threw') }),
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

/** Lists what a record must never lose: transactions, and what was told of them, with the number of the payment. */
export function listFacts({ payments }: LedgerRecord): string[] {
  return payments.flatMap((payment, index) => {
    const { charge, told } = payment;
    if (charge.is !== 'made') return [];
    const facts = [
      `made ${referenceOf(payment)}`,
      told.final && `told ${told.final}`,
      told.paid && 'told paid',
    ];
    return facts.flatMap((fact) => (fact ? `${index + 1} ${fact}` : []));
  });
}
