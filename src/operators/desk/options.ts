import * as z from 'zod/mini';
import type { PaymentsClient } from '../../client.ts';
import { clientShape } from '../../follow-ups/options.ts';
import { readAccess } from '../../follow-ups/sweeper.ts';
import type { Journal } from '../../journal/journal.ts';
import type { OrderPayments } from '../../orders/index.ts';
import { type OptionsShape, optionalFunction, optionalValue, parseOptions } from '../../parse-options.ts';
import { isObject } from '../../support/untrusted.ts';

/** What {@link createReviewDesk} takes. */
export interface ReviewDeskOptions {
  /** The client: its service is asked before a decision is recorded. */
  payments: PaymentsClient;
  /** The journal of that client. */
  journal: Journal;
  /** What {@link createOrderPayments} made, so that the desk shows the state of each order. @default none */
  orderPayments?: Pick<OrderPayments, 'read'> | undefined;
  /**
   * Returns who sends a request, 1 to 200 characters: it is kept as `by` of each decision. `null` refuses the request with 401,
   * and a `Response`, such as a redirect to your login, is sent as it is. What it throws rejects the call of the desk.
   * Anyone can send the header of the example, unless the proxy that signs your staff in replaces it.
   *
   * @default nobody is let in
   * @example authorize: ({ headers }) => headers.get('x-signed-in-user')
   */
  authorize?: ((request: Request) => Authorization | Promise<Authorization>) | undefined;
}

/** Who sends a request, or what refuses it. */
export type Authorization = string | null | undefined | Response;

const optionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...clientShape,
    orderPayments: optionalValue<ReviewDeskOptions['orderPayments']>(
      (value) => isObject(value) && typeof Reflect.get(value, 'read') === 'function',
      'orderPayments must be what createOrderPayments returned.',
    ),
    authorize: optionalFunction<NonNullable<ReviewDeskOptions['authorize']>>('authorize'),
  } satisfies OptionsShape<ReviewDeskOptions>))();

/** @throws {ConfigurationError} if an option is unknown or cannot work. */
export function validateReviewDeskOptions(options: ReviewDeskOptions): ReviewDeskOptions {
  const valid = parseOptions(optionsSchema, options, {
    notAnObject: 'createReviewDesk takes { payments, journal, orderPayments, authorize }.',
  });
  readAccess(valid.payments, valid.journal);
  return valid;
}
