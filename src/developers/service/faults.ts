import * as z from 'zod/mini';
import type { OperationName } from '../../api/operations.ts';
import { MAX_TIMEOUT_MS } from '../../support/max-timeout.ts';
import { isPlainName } from '../../support/unknown-option.ts';
import { isRecord } from '../../support/untrusted.ts';
import { flag, milliseconds, oneOf, parseOrThrow, strict, text, wholeNumber } from './fields.ts';
import { MAX_DELAY_MS } from './ledger.ts';

/** How a form asks for a field of a fault. Fields without it are for tests and scripts. */
export interface FieldInput {
  readonly label: string;
  /** A field of milliseconds is asked for in seconds. */
  readonly type: 'text' | 'number' | 'seconds' | 'flag' | 'choice';
  /** What the form has at first. Without it the field can stay empty. */
  readonly initial?: string;
  /** The values of a choice, and what they are called. */
  readonly choices?: Readonly<Record<string, string>>;
}

/** What the pages of the sandbox call a fault: its name, and what happens where the name does not say it. */
export const faultLabels = z.registry<{ readonly label: string }>();
export const fieldInputs = z.registry<FieldInput>();

/** Defines one kind of fault: its label on the pages, and its fields. */
function defineFault<const Kind extends string, Shape extends z.core.$ZodLooseShape>(
  kind: Kind,
  label: string,
  fields: Shape,
) {
  return strict({ kind: z.literal(kind), ...fields }).register(faultLabels, { label });
}

const oneOfTheKinds: z.core.$ZodDiscriminatedUnionParams = {
  error: (issue) =>
    issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)
      ? `must be one of ${issue.options.join(', ')}`
      : 'must be an object with a kind',
};

const delay = (initial: string, label: string) =>
  milliseconds(MAX_DELAY_MS).register(fieldInputs, { label, type: 'seconds', initial });

const accepted = () =>
  z.optional(flag.clone()).register(fieldInputs, { label: 'The service acts first', type: 'flag' });

const statusCode = wholeNumber(200, 599, 'a number').register(fieldInputs, {
  label: 'Status code',
  type: 'number',
  initial: '502',
});

const statusBody = z
  .optional(
    z.union([oneOf(['html', 'json', 'empty']), z.record(z.string(), z.unknown())], {
      error: 'must be json, html, empty or an object',
    }),
  )
  .register(fieldInputs, {
    label: 'Body',
    type: 'choice',
    initial: 'html',
    choices: { html: 'HTML page', json: 'JSON', empty: 'none' },
  });

const replacedField = (label: string, initial: string) =>
  text.clone().register(fieldInputs, { label, type: 'text', initial });

/** The faults of requests: each with its name, its fields and their ranges. Everything else is made from this. */
export const faultSchema = z.discriminatedUnion(
  'kind',
  [
    /**
     * Responds with a status code: an error, a redirect, or a bare 2xx. The client throws the class for that code
     * (`ServerError`, `NotFoundError`, …). For a POST, a 5xx, a 408 or a 3xx is an `OutcomeUnknownError`.
     */
    defineFault('status', 'status code', {
      /** 200 to 599. */
      status: statusCode,
      /**
       * `json`: an error in this mock's own shape, because the service documents none. `html`: the page of a gateway.
       * `empty`: no body. An object is sent as JSON, unchanged.
       *
       * @default 'json'
       */
      body: statusBody,
      headers: z.optional(z.record(z.string(), text, { error: 'must be an object of strings' })),
      /**
       * Whether the service acts before this response: a gateway can send a 502 after the charge was accepted. Do not
       * set it for a 4xx other than 408, because such a response says that nothing was charged.
       *
       * @default false
       */
      accepted: accepted(),
    }),
    /** Responds with 429 and Retry-After: a `RateLimitError` with `retryAfter`. The service does not act. */
    defineFault('rateLimited', 'rate limit: 429 with Retry-After', {
      /** In milliseconds. The header has whole seconds, rounded up. @default 1_000 */
      retryAfter: z
        .optional(milliseconds(MAX_DELAY_MS))
        .register(fieldInputs, { label: 'Retry-After, seconds', type: 'seconds', initial: '5' }),
    }),
    /**
     * Breaks the connection before the service acts: `ConnectionError` on a verify. On a POST it is an
     * `OutcomeUnknownError`, because the client cannot distinguish it from `responseLost`.
     */
    defineFault('reset', 'connection reset: before the service acts', {}),
    /** Breaks the connection after the service acted, so that a charge exists: `OutcomeUnknownError`. */
    defineFault('responseLost', 'response lost: after the service acted', {}),
    /**
     * Never responds: `RequestTimeoutError` after the client's `timeout`. On a POST that is the `cause` of an
     * `OutcomeUnknownError`.
     */
    defineFault('hang', 'no response', {
      /** Whether the service acts anyway. @default false */
      accepted: accepted(),
    }),
    /** The service acts and sends its response one byte at a time. After the client's `timeout` the error is that of `hang`. */
    defineFault('slowBody', 'slow body: one byte at a time', {
      /** Between two bytes, in milliseconds on the test's clock. @default 100 */
      interval: z.optional(milliseconds(MAX_TIMEOUT_MS)),
    }),
    /**
     * The service acts, and the JSON of its response ends in the middle: `UnexpectedResponseError`. On a POST that is the
     * `cause` of an `OutcomeUnknownError`.
     */
    defineFault('truncated', 'truncated JSON', {}),
    /** The service acts and responds with another amount: `TransactionMismatchError`, on a verify only with `expect`. */
    defineFault('wrongAmount', 'wrong amount', {
      /** Decimal text, such as `'2.55'`. */
      amount: replacedField('Amount', '2.55'),
    }),
    /** The service acts and responds with another currency: the same errors as `wrongAmount`. */
    defineFault('wrongCurrency', 'wrong currency', { currency: replacedField('Currency', 'USD') }),
    /**
     * The service acts and responds with another reference, and with the `checkout_url` of that: `TransactionMismatchError`
     * on a verify. On a charge and an initialize the client cannot notice it, unless the text is not a reference. A verify of
     * that reference then finds nothing.
     */
    defineFault('wrongReference', 'wrong reference', {
      reference: replacedField('Reference', 'TXN-another'),
    }),
    /** The service acts and responds with an undocumented status. The client reads it as `unrecognised`, never final. */
    defineFault('unrecognisedStatus', 'unrecognised status', {
      /** @default 'reversed' */
      status: z.optional(text).register(fieldInputs, { label: 'Status', type: 'text', initial: 'reversed' }),
    }),
    /** The service works, but the customer approves late, perhaps after the merchant's wait has ended. */
    defineFault('lateApproval', 'late approval', {
      /** From creation to approval, in milliseconds on the test's clock. */
      after: delay('60', 'Approved after, seconds'),
    }),
  ],
  oneOfTheKinds,
);

/** Any fault of a request, discriminated by `kind`. */
export type Fault = z.output<typeof faultSchema>;

/** The kind of fault that an operation cannot meet. */
const impossibleKinds = {
  initialize: 'unrecognisedStatus',
  chargeMobileMoney: null,
  verify: 'lateApproval',
} as const satisfies Record<OperationName, Fault['kind'] | null>;

export const operationNames = [
  'initialize',
  'chargeMobileMoney',
  'verify',
] as const satisfies OperationName[];

/** The faults of each operation. */
export type Faults = {
  [Name in OperationName]: Exclude<Fault, { kind: (typeof impossibleKinds)[Name] }>;
};

/** Any fault of a webhook, discriminated by `kind`. */
export type WebhookFault = z.output<typeof webhookFaultSchema>;

const MAX_FORGED_CHARS = 255;

const forgedText = (label: string) =>
  z
    .optional(
      text.check(
        z.maxLength(MAX_FORGED_CHARS, { error: `must have at most ${MAX_FORGED_CHARS} characters` }),
      ),
    )
    .register(fieldInputs, { label, type: 'text' });

const forgedFields = {
  reference: forgedText('Forged reference'),
  /** Decimal text, such as `'2.55'`. */
  amount: forgedText('Forged amount'),
  status: forgedText('Forged status'),
};

export const forgedFieldsSchema = strict(forgedFields);

/** What the payload of a forged webhook claims. What is missing stays as it is. */
export type ForgedFields = z.output<typeof forgedFieldsSchema>;

const webhookDelay = () =>
  z
    .optional(milliseconds(MAX_DELAY_MS))
    .register(fieldInputs, { label: 'Delay, seconds', type: 'seconds', initial: '10' });

/** The faults of webhooks, as {@link faultSchema} describes those of requests. */
export const webhookFaultSchema = z.discriminatedUnion(
  'kind',
  [
    defineFault('late', 'late: sent after a delay', {
      /** In milliseconds on the service's clock. @default 10_000 */
      delay: webhookDelay(),
    }),
    defineFault('twice', 'twice', {}),
    defineFault('lost', 'lost: never sent', {}),
    /**
     * Before the real webhook there is another that the service did not send: it claims a payment that does not exist,
     * another amount, or a success. Without a field it claims `success`.
     */
    defineFault('forged', 'forged: a false one before it', forgedFields),
    defineFault('early', 'early: before verify reports it', {
      /** How long verify still reports the status of before, in milliseconds on the service's clock. @default 3_000 */
      delay: webhookDelay(),
    }),
  ],
  oneOfTheKinds,
);

type KindsSchema = typeof faultSchema | typeof webhookFaultSchema;

export type KindSchema = KindsSchema['def']['options'][number];

export function listKinds(schema: KindsSchema): ReadonlyMap<string, KindSchema> {
  const options: readonly KindSchema[] = schema.def.options;
  return new Map(options.flatMap((option) => option.shape.kind.def.values.map((kind) => [kind, option])));
}

export interface FaultOrder {
  readonly operation: OperationName;
  readonly fault: Fault;
}

/**
 * Returns a copy of a fault, or refuses it on the line of the test that orders it. A test in JavaScript has no types.
 *
 * @throws {TypeError} if the operation, the kind, a text or a header is not valid
 * @throws {RangeError} if a number is out of its range
 */
export function parseFault(operation: string, fault: unknown): FaultOrder {
  if (!isOperation(operation)) {
    throw new TypeError(`Unknown operation ${operation}. Known: ${operationNames.join(', ')}.`);
  }
  const kinds = [...listKinds(faultSchema).keys()].filter((kind) => kind !== impossibleKinds[operation]);
  requireKind(fault, kinds, (name) => `Unknown fault${name} for ${operation}`);
  const parsed = parseOrThrow(faultSchema, fault, 'The fault');
  if (parsed.kind === 'status') {
    // Both throw for a value that fetch would refuse later.
    new Headers(parsed.headers);
    JSON.stringify(parsed.body);
  }
  return { operation, fault: parsed };
}

function isOperation(name: string): name is OperationName {
  return Object.hasOwn(impossibleKinds, name);
}

export function parseWebhookFault(fault: unknown): WebhookFault {
  const kinds = [...listKinds(webhookFaultSchema).keys()];
  requireKind(fault, kinds, (name) => `Unknown webhook fault${name}`);
  return parseOrThrow(webhookFaultSchema, fault, 'The fault');
}

function requireKind(fault: unknown, known: readonly string[], say: (name: string) => string): void {
  const kind: unknown = isRecord(fault) ? fault.kind : undefined;
  if (typeof kind === 'string' && known.includes(kind)) return;
  const name = typeof kind === 'string' && isPlainName(kind) ? ` ${kind}` : '';
  throw new TypeError(`${say(name)}. Known: ${known.join(', ')}.`);
}
