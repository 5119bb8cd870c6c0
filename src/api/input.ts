import * as z from 'zod/mini';
import { isPlainObject } from '../untrusted.ts';
import { type AmountFault, amountIssue, MAX_AMOUNT, MINIMUM_AMOUNT } from './money.ts';

/**
 * A transaction's reference: `TXN-` and a generated suffix (SPEC.md, 2). It becomes a part of a path, so nothing that
 * could change the path is let through: printable ASCII only, at most 255 characters, no separator, no white space,
 * no `%`, `?` or `#`.
 */
export const referenceSchema = z
  .string({ error: 'must be a string: the reference that initialize or chargeMobileMoney returned' })
  .check(
    z.regex(/^TXN-[!"$&-.0->@-[\]-~]{1,251}$/, {
      error:
        'must be TXN- and a suffix, at most 255 printable ASCII characters, without / \\ % ? # or spaces',
    }),
  );

/** A time given in seconds would lie before this, and the deadline with it. */
export const YEAR_2001 = 1e12;

/** The Mobile Money networks of SPEC.md, 4.2. */
export const networks = ['mtn', 'telecel', 'airteltigo'] as const;

const amountMessages: Record<AmountFault, string> = {
  not_a_decimal: 'must be a plain decimal such as 25.5 or "25.50": no sign, exponent, comma or space',
  too_many_decimals:
    'must have at most two decimals; it is never rounded. Pass text such as "3.30" for a computed sum',
  too_small: `must be at least ${MINIMUM_AMOUNT}`,
  too_large: `must be at most ${MAX_AMOUNT}: above that, not every amount can be sent exactly`,
};

const anyAmount = z.union([z.number(), z.string()], {
  error: 'must be a number, or decimal text such as "25.50"',
});

const amount = z.pipe(
  anyAmount.check(({ value, issues }) => {
    const fault = amountIssue(value);
    if (fault)
      issues.push({ code: 'custom', input: value, message: amountMessages[fault], params: { code: fault } });
  }),
  z.transform(Number),
);

const currency = z.pipe(
  z
    .string({ error: 'must be a string of three letters' })
    .check(z.regex(/^[A-Za-z]{3}$/, { error: 'must be three letters, such as GHS' })),
  z.transform((code: string) => code.toUpperCase()),
);

const customerEmail = z
  .string({ error: "must be a string: the customer's email address" })
  .check(z.regex(/^[^\s@"\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,255}$/u, { error: 'must be an email address' }));

const phone = z
  .string({ error: "must be a string: the customer's Mobile Money number" })
  .check(
    z.regex(/\p{Nd}/u, { error: 'must have digits in it' }),
    z.regex(/^\P{Cc}*$/u, { error: 'must have no line breaks or other control characters' }),
  );

/** A misspelt key is a fault. This type keeps the comments on the fields for editors; zod's own drops them. */
function strictShape<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodMiniObject<Shape, z.core.$strict> {
  return z.strictObject(shape);
}

const paymentFields = {
  /** A number, or decimal text such as `'25.50'`: at least 1, at most two decimals. Never rounded. */
  amount,
  customer_email: customerEmail,
  /** Three letters. @default the service's own: GHS */
  currency: z.optional(currency),
};

/** What `initialize` takes (SPEC.md, 4.1). For a merchant's own forms and routes too. */
export const initializeInputSchema = strictShape(paymentFields);

/** What `chargeMobileMoney` takes (SPEC.md, 4.2). For a merchant's own forms and routes too. */
export const chargeMobileMoneyInputSchema = strictShape({
  ...paymentFields,
  /** Sent as given: SPEC.md shows no format. */
  phone,
  network: z.enum(networks, { error: `must be one of ${networks.join(', ')}` }),
});

/** What a paid transaction must show: compared exactly, as decimals. */
export const expectationSchema = strictShape({
  /** A number, or decimal text such as `'25.50'`. */
  amount,
  /** Three letters. */
  currency: z.optional(currency),
});

const expectation = z.pipe(
  z.custom<Expectation>(isPlainObject, {
    error: 'must be a plain object with an amount, such as { amount: "25.50", currency: "GHS" }',
    params: { code: 'invalid_type' },
  }),
  expectationSchema,
);

/** What `verify`, `check` and the waits take (SPEC.md, 4.3), and what the answer is held against. */
export const verifyInputSchema = strictShape({
  reference: referenceSchema,
  expect: z.optional(expectation),
});

/** What `reconcile` takes for a reference that is not given as text. */
export const reconcileItemSchema = strictShape({
  ...verifyInputSchema.shape,
  startedAt: z.optional(
    z
      .number({ error: 'must be a number: milliseconds since 1970' })
      .check(
        z.gte(YEAR_2001, { error: 'must be milliseconds since 1970, as Date.now() gives: not seconds' }),
      ),
  ),
});

/** A Mobile Money network: `mtn`, `telecel` or `airteltigo`. */
export type Network = (typeof networks)[number];

/**
 * A payment by checkout page: `amount` (a number or decimal text, at least 1, at most two decimals),
 * `customer_email`, and `currency` (three letters; the service's default is GHS).
 *
 * @interface
 */
export type InitializeInput = z.input<typeof initializeInputSchema>;

/**
 * A Mobile Money charge: `amount` (a number or decimal text, at least 1, at most two decimals), `customer_email`,
 * `phone` (sent as given), `network`, and `currency` (three letters; the service's default is GHS).
 *
 * @interface
 */
export type ChargeMobileMoneyInput = z.input<typeof chargeMobileMoneyInputSchema>;

/**
 * The amount that a transaction must have, and the currency if it is given.
 *
 * @interface
 * @example { amount: '25.50', currency: 'GHS' }
 */
export type Expectation = z.input<typeof expectationSchema>;

/** What a read is about, and what its answer is held against. */
export type VerifyInput = z.input<typeof verifyInputSchema>;
