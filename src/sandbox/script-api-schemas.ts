import * as z from 'zod/mini';
import { chargeMobileMoneyInputSchema, initializeInputSchema } from '../api/input.ts';
import type { OperationName } from '../api/operations.ts';
import { transactionStatuses } from '../api/transaction.ts';
import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { defaultFinalStatuses } from '../schedule.ts';
import type { Fault } from '../testing/faults.ts';
import { MAX_DELAY_MS } from '../testing/ledger.ts';
import type { WebhookFault } from '../testing/webhook-faults.ts';
import { findNearestName, isPlainName } from '../unknown-option.ts';

/** Refuses a field that does not exist, and names those that do. */
function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodMiniObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? describeUnknown(issue.keys, known) : 'must be a JSON object',
  });
}

function describeUnknown([given = '']: readonly string[], known: readonly string[]): string {
  const nearest = findNearestName(given, known);
  const name = nearest !== undefined || isPlainName(given) ? ` "${given}"` : '';
  if (nearest !== undefined) return `has an unknown field${name}. Did you mean ${nearest}?`;
  return `has an unknown field${name}. ${known.length > 0 ? `There are: ${known.join(', ')}` : 'It has no fields'}`;
}

function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` });
}

function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.number({ error }).check(z.multipleOf(1, { error }), z.gte(min, { error }), z.lte(max, { error }));
}

/** A whole number in a query. */
function wholeText(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.pipe(
    z.string({ error }).check(z.regex(/^\d{1,16}$/, { error })),
    z.pipe(z.transform(Number), wholeNumber(min, max)),
  );
}

const text = z.string({ error: 'must be a string' });
const number = z.number({ error: 'must be a number' });
const flag = z.boolean({ error: 'must be true or false' });

const httpAddress = text.check(
  z.refine((address) => URL.canParse(address) && /^https?:/i.test(address), {
    error: 'must be an http or https address',
  }),
);

const mode = oneOf(['test', 'live']);
const status = oneOf(transactionStatuses);
const finalStatus = oneOf(defaultFinalStatuses);
const operation = oneOf(['initialize', 'chargeMobileMoney', 'verify'] satisfies [
  OperationName,
  ...OperationName[],
]);

/** At most this many items of a list at once. */
const MAX_LIMIT = 1_000;
/** How many items of a list there are if the request does not say. */
export const DEFAULT_LIMIT = 100;

const limit = z._default(wholeText(1, MAX_LIMIT), DEFAULT_LIMIT);

export const noFields = strict({});

export const transactionsQuery = strict({
  status: z.optional(oneOf([...transactionStatuses, 'declined', 'expired'])),
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

/** For a value of several kinds. */
const oneOfTheKinds: z.core.$ZodDiscriminatedUnionParams = {
  error: (issue) =>
    issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)
      ? `must be one of ${issue.options.join(', ')}`
      : 'must be an object with a kind',
};

/** `always`: until the faults are deleted. */
const times = z._default(
  z.union([wholeNumber(1, Number.MAX_SAFE_INTEGER), z.literal('always')], {
    error: 'must be a whole number, 1 or more, or always',
  }),
  1,
);

/** The kinds of {@link Fault}. `validateFault` checks the ranges, and which kinds an operation can meet. */
const fault: z.ZodMiniType<Fault> = z.discriminatedUnion(
  'kind',
  [
    strict({
      kind: z.literal('status'),
      status: number,
      body: z.exactOptional(
        z.union([z.enum(['json', 'html', 'empty']), z.record(z.string(), z.unknown())], {
          error: 'must be json, html, empty or an object',
        }),
      ),
      headers: z.exactOptional(z.record(z.string(), text, { error: 'must be an object of strings' })),
      accepted: z.exactOptional(flag),
    }),
    strict({ kind: z.literal('rateLimited'), retryAfter: z.exactOptional(number) }),
    strict({ kind: z.literal('reset') }),
    strict({ kind: z.literal('responseLost') }),
    strict({ kind: z.literal('hang'), accepted: z.exactOptional(flag) }),
    strict({ kind: z.literal('slowBody'), interval: z.exactOptional(number) }),
    strict({ kind: z.literal('truncated') }),
    strict({ kind: z.literal('wrongAmount'), amount: text }),
    strict({ kind: z.literal('wrongCurrency'), currency: text }),
    strict({ kind: z.literal('wrongReference'), reference: text }),
    strict({ kind: z.literal('unrecognisedStatus'), status: z.exactOptional(text) }),
    strict({ kind: z.literal('lateApproval'), after: number }),
  ],
  oneOfTheKinds,
);

export const newFault = strict({ operation, fault, times });

const delay = z.exactOptional(wholeNumber(0, MAX_DELAY_MS));

/** What a forged webhook claims. */
const forgedFields = {
  reference: z.exactOptional(text),
  amount: z.exactOptional(text),
  status: z.exactOptional(text),
};

const webhookFault: z.ZodMiniType<WebhookFault> = z.discriminatedUnion(
  'kind',
  [
    strict({ kind: z.literal('late'), delay }),
    strict({ kind: z.literal('twice') }),
    strict({ kind: z.literal('outOfOrder') }),
    strict({ kind: z.literal('lost') }),
    strict({ kind: z.literal('forged'), ...forgedFields }),
    strict({ kind: z.literal('early'), delay }),
  ],
  oneOfTheKinds,
);

export const newWebhookFault = strict({ fault: webhookFault, times });

export const newWebhook = strict({ reference: text, forged: z.optional(strict(forgedFields)) });

export const webhookReceiver = strict({
  url: z.nullable(httpAddress),
  retryDelays: z.exactOptional(
    z
      .array(wholeNumber(0, MAX_DELAY_MS), { error: 'must be a list of milliseconds' })
      .check(z.maxLength(100, { error: 'must have at most 100 items' })),
  ),
  timeout: z.exactOptional(wholeNumber(1, MAX_TIMEOUT_MS)),
});

export const timeStep = strict({ milliseconds: wholeNumber(0, MAX_DELAY_MS) });

export const doubleChargesQuery = strict({
  within: z.optional(wholeText(0, MAX_DELAY_MS)),
  limit,
});
