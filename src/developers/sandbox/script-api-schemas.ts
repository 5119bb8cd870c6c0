import * as z from 'zod/mini';
import { chargeMobileMoneyInputSchema, initializeInputSchema } from '../../api/input.ts';
import { transactionStatuses } from '../../api/transaction.ts';
import { defaultFinalStatuses } from '../../schedule.ts';
import { faultSchema, forgedFieldsSchema, operationNames, webhookFaultSchema } from '../service/faults.ts';
import { oneOf, strict, text, wholeNumber } from '../service/fields.ts';
import { keyModes, MAX_DELAY_MS } from '../service/ledger.ts';
import { isHttpAddress } from '../service/validate-request.ts';
import { webhookOptionsSchema } from '../service/webhook-delivery.ts';
import { statusFilters } from './find-transactions.ts';

/** A whole number in a query. */
function wholeText(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.pipe(
    z.string({ error }).check(z.regex(/^\d{1,16}$/, { error })),
    z.pipe(z.transform(Number), wholeNumber(min, max)),
  );
}

const httpAddress = text.check(z.refine(isHttpAddress, { error: 'must be an http or https address' }));

const mode = oneOf(keyModes);
const status = oneOf(transactionStatuses);
const finalStatus = oneOf(defaultFinalStatuses);
const operation = oneOf(operationNames);

/** At most this many items of a list at once. */
const MAX_LIMIT = 1_000;
/** How many items of a list there are if the request does not say. */
export const DEFAULT_LIMIT = 100;

const limit = z._default(wholeText(1, MAX_LIMIT), DEFAULT_LIMIT);

export const noFields = strict({});

export const transactionsQuery = strict({
  status: z.optional(oneOf(statusFilters)),
  mode: z.optional(mode),
  search: z.optional(text),
  before: z.optional(text),
  limit,
});

const { phone, network } = chargeMobileMoneyInputSchema.shape;

/** The fields of a merchant's request, and what only the sandbox can set. */
export const newTransaction = strict({
  ...initializeInputSchema.shape,
  phone: z.optional(phone),
  network: z.optional(network),
  mode: z.optional(mode),
  returnUrl: z.optional(httpAddress),
  status: z.optional(finalStatus),
}).check(
  z.refine((input) => (input.phone === undefined) === (input.network === undefined), {
    error: 'must have both phone and network for a charge, or none of them for a checkout payment',
  }),
  z.refine((input) => input.phone === undefined || input.returnUrl === undefined, {
    error: 'must have no returnUrl for a charge: it has no checkout page',
  }),
);

/** How a transaction changes: now or later, or a status for each verify. */
export const transactionMove = strict({
  status: z.optional(finalStatus),
  after: z.optional(wholeNumber(0, MAX_DELAY_MS)),
  script: z.optional(
    z
      .array(status, { error: 'must be a list of statuses' })
      .check(z.minLength(1, { error: 'must have at least one status' })),
  ),
}).check(
  z.refine((move) => (move.status === undefined) !== (move.script === undefined), {
    error: 'must have either a status or a script',
  }),
  z.refine((move) => move.after === undefined || move.script === undefined, {
    error: 'must have after with a status only',
  }),
);

export const transactionQuery = strict({ limit });

export const requestsQuery = strict({
  operation: z.optional(operation),
  reference: z.optional(text),
  limit,
});

export const webhooksQuery = strict({ reference: z.optional(text), limit });

/** JSON has no `Infinity`. */
const always = z.pipe(
  z.literal('always'),
  z.transform(() => Number.POSITIVE_INFINITY),
);

/** `always`: until the faults are deleted. */
const times = z._default(
  z.union([wholeNumber(1, Number.MAX_SAFE_INTEGER), always], {
    error: 'must be a whole number, 1 or more, or always',
  }),
  1,
);

export const newFault = strict({ operation, fault: faultSchema, times });

export const newWebhookFault = strict({ fault: webhookFaultSchema, times });

export const newWebhook = strict({ reference: text, forged: z.optional(forgedFieldsSchema) });

export const webhookReceiver = strict({ url: z.nullable(httpAddress), ...webhookOptionsSchema.shape });

export const timeStep = strict({ milliseconds: wholeNumber(0, MAX_DELAY_MS) });

export const doubleChargesQuery = strict({
  within: z._default(wholeText(0, MAX_DELAY_MS), Number.POSITIVE_INFINITY),
  limit,
});
