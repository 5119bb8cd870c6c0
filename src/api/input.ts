/** What the caller gives: a schema for each input. All of it is checked before anything is sent. */

import * as z from 'zod/mini';
import { isPlainObject } from '../support/untrusted.ts';
import { type AmountIssue, findAmountIssue, MAX_AMOUNT, MIN_AMOUNT } from './money.ts';

export const REFERENCE = /^TXN-[!"$&-.0->@-[\]-~]{1,251}$/;

/**
 * A transaction's reference: `TXN-` and a generated suffix. It becomes a part of the path, so nothing that could change
 * the path is allowed: printable ASCII only, at most 255 characters, no separator, no white space, no `%`, `?` or `#`.
 */
export const referenceSchema = /* @__PURE__ */ (() =>
  z.string({ error: 'must be a string: the reference that initialize or chargeMobileMoney returned' }).check(
    z.regex(REFERENCE, {
      error:
        'must be TXN- and a suffix, at most 255 printable ASCII characters, without / \\ % ? # or spaces',
    }),
  ))();

const amountMessages = /* @__PURE__ */ ((): Record<AmountIssue, string> => ({
  not_a_decimal: 'must be a plain decimal such as 25.5 or "25.50": no sign, exponent, comma or space',
  too_many_decimals:
    'must have at most two decimals; it is never rounded. Pass text such as "3.30" for a computed sum',
  too_small: `must be at least ${MIN_AMOUNT}`,
  too_large: `must be at most ${MAX_AMOUNT}: above that, not every amount can be sent exactly`,
}))();

/** The check decides. `meta` says as much of it as JSON Schema can. */
const amountInput = /* @__PURE__ */ (() => {
  const limits = { minimum: MIN_AMOUNT, maximum: MAX_AMOUNT };
  return z.pipe(
    z
      .union(
        [
          z.number().check(z.meta(limits)),
          z.string().check(z.meta({ pattern: '^[1-9]\\d*(?:\\.\\d{1,2})?$' })),
        ],
        { error: 'must be a number, or decimal text such as "25.50"' },
      )
      .check(({ value, issues }) => {
        const code = findAmountIssue(value);
        if (code)
          issues.push({ code: 'custom', input: value, message: amountMessages[code], params: { code } });
      }),
    z.pipe(z.transform(Number), z.number().check(z.meta(limits))),
  );
})();

const currencyInput = /* @__PURE__ */ (() =>
  z
    .string({ error: 'must be a string of three letters' })
    .check(z.regex(/^[A-Za-z]{3}$/, { error: 'must be three letters, such as GHS' }), z.toUpperCase()))();

const customerEmail = /* @__PURE__ */ (() =>
  z
    .string({ error: "must be a string: the customer's email address" })
    .check(z.regex(/^[^\s@"\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,255}$/u, { error: 'must be an email address' })))();

const phone = /* @__PURE__ */ (() =>
  z
    .string({ error: "must be a string: the customer's Mobile Money number" })
    .check(
      z.regex(/\p{Nd}/u, { error: 'must have digits in it' }),
      z.regex(/^\P{Cc}*$/u, { error: 'must have no line breaks or other control characters' }),
    ))();

/** The Mobile Money networks of the service. */
export const networks = ['mtn', 'telecel', 'airteltigo'] as const;

/** A Mobile Money network: `mtn`, `telecel` or `airteltigo`. */
export type Network = (typeof networks)[number];

const paymentFields = /* @__PURE__ */ (() => ({
  /**
   * In main units, so `'25.50'` is 25 cedis and 50 pesewas (not `2550`): a number or decimal text, at least 1, with at most two
   * decimals. It is never rounded.
   */
  amount: amountInput,
  /** The customer's email address, which the service requires. */
  customer_email: customerEmail,
  /** Three letters. @default the service's own: GHS */
  currency: z.optional(currencyInput),
}))();

/** A second base: without one, TypeScript writes the fields of an input where its name would do. */
type Named = object;

/** The input of `initialize`. You can also use it in your own forms and routes. */
export const initializeInputSchema = /* @__PURE__ */ (() => strictShape(paymentFields))();

/**
 * A payment by checkout page: `amount` (a number or decimal text in main units, at least 1, at most two decimals),
 * `customer_email`, and `currency` (three letters; the service's default is GHS).
 */
export interface InitializeInput extends z.input<typeof initializeInputSchema>, Named {}

/** The input of `chargeMobileMoney`. You can also use it in your own forms and routes. */
export const chargeMobileMoneyInputSchema = /* @__PURE__ */ (() =>
  strictShape({
    ...paymentFields,
    /** The customer's Mobile Money number. It is sent as given, because the service documents no format. */
    phone,
    /** The network of the number: `mtn`, `telecel` or `airteltigo`. */
    network: z.enum(networks, { error: `must be one of ${networks.join(', ')}` }),
  }))();

/**
 * A Mobile Money charge: `amount` (a number or decimal text in main units, at least 1, at most two decimals),
 * `customer_email`, `phone` (sent as given), `network`, and `currency` (three letters; the service's default is GHS).
 */
export interface ChargeMobileMoneyInput extends z.input<typeof chargeMobileMoneyInputSchema>, Named {}

/** What a paid transaction must show. Amounts are compared exactly, as decimals. */
export const expectationSchema = /* @__PURE__ */ (() =>
  strictShape({
    /** In main units: a number, or decimal text such as `'25.50'`. */
    amount: amountInput,
    /** Three letters. @default none: any currency */
    currency: z.optional(currencyInput),
  }))();

/**
 * The amount that a transaction must have, and the currency if it is given.
 *
 * @example { amount: '25.50', currency: 'GHS' }
 */
export interface Expectation extends z.input<typeof expectationSchema>, Named {}

export const verifyInputSchema = /* @__PURE__ */ (() =>
  strictShape({
    reference: referenceSchema,
    expect: z.optional(
      z.pipe(
        z.custom<Expectation>(isPlainObject, {
          error: 'must be a plain object with an amount, such as { amount: "25.50", currency: "GHS" }',
          params: { code: 'invalid_type' },
        }),
        expectationSchema,
      ),
    ),
  }))();

/** A reference to read, and what its transaction is compared with. */
export type VerifyInput = z.input<typeof verifyInputSchema>;

/** The earliest start time in milliseconds since 1970, in 2001: a time given in seconds is always below it. */
export const MIN_EPOCH_MS = 1e12;

/** An item of `reconcile` that is more than a reference. */
export const reconcileItemSchema = /* @__PURE__ */ (() =>
  strictShape({
    ...verifyInputSchema.shape,
    startedAt: z.optional(
      z
        .number({ error: 'must be a number: milliseconds since 1970' })
        .check(
          z.gte(MIN_EPOCH_MS, { error: 'must be milliseconds since 1970, as Date.now() gives: not seconds' }),
        ),
    ),
  }))();

/** Refuses misspelt fields. The type keeps the comments on the fields for editors, which zod's own drops. */
function strictShape<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodMiniObject<Shape, z.core.$strict> {
  return z.strictObject(shape);
}
