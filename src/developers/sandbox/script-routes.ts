/**
 * The API for scripts: the fields of each request, and the control of the sandbox that it uses. A form of a page is one of
 * these requests too.
 */

import * as z from 'zod/mini';
import { chargeMobileMoneyInputSchema, initializeInputSchema } from '../../api/input.ts';
import { transactionStatuses } from '../../api/transaction.ts';
import { defaultFinalStatuses } from '../../schedule.ts';
import { findDoubleCharges } from '../mock/double-charge.ts';
import { faultSchema, forgedFieldsSchema, operationNames, webhookFaultSchema } from '../service/faults.ts';
import { oneOf, strict, text, wholeNumber } from '../service/fields.ts';
import { type Entry, keyModes, MAX_DELAY_MS } from '../service/ledger.ts';
import type { Exchange } from '../service/service.ts';
import { HttpRejection, isHttpAddress } from '../service/validate-request.ts';
import { webhookOptionsSchema } from '../service/webhook-delivery.ts';
import type { SandboxContext } from './context.ts';
import { findTransactions, statusFilters } from './find-transactions.ts';
import { type FieldSource, findEntry, formatQuery, validate } from './request.ts';
import { viewDelivery, viewExchange, viewFault, viewTransaction } from './script-api-views.ts';

/** The path of the API for scripts: docs/reference/payment-sandbox.md, "Use the script API". The service has none. */
export const SCRIPT_API_PATH = '/sandbox';

export interface ScriptRoute {
  /** The status of a response with a body. Without a body it is 204. */
  readonly status: 200 | 201;
  /**
   * Validates the fields of a request, and acts. Returns the body of the response, or nothing.
   *
   * @throws {HttpRejection} if a field is not valid, or if the control refuses it
   */
  run(given: unknown, source: FieldSource, reference?: string): unknown;
}

function routeWith(status: ScriptRoute['status']) {
  return <Fields>(
    fields: z.ZodMiniType<Fields>,
    act: (fields: Fields, reference: string) => unknown,
  ): ScriptRoute => ({
    status,
    run: (given, source, reference = '') => {
      const parsed = validate(fields, given, source);
      try {
        return act(parsed, reference);
      } catch (error) {
        // A control refuses a value by these.
        if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
        throw new HttpRejection(400, error.message);
      }
    },
  });
}

const respond = routeWith(200);
const create = routeWith(201);

/** At most this many items of a list at once. */
const MAX_LIMIT = 1_000;
/** How many items of a list there are if the request does not say. */
const DEFAULT_LIMIT = 100;

/** A whole number in a query. */
function wholeText(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.pipe(
    z.string({ error }).check(z.regex(/^\d{1,16}$/, { error })),
    z.pipe(z.transform(Number), wholeNumber(min, max)),
  );
}

const limit = z._default(wholeText(1, MAX_LIMIT), DEFAULT_LIMIT);
const mode = z.optional(oneOf(keyModes));
const status = z.optional(oneOf(defaultFinalStatuses));
const reference = z.optional(text);
const httpAddress = text.check(z.refine(isHttpAddress, { error: 'must be an http or https address' }));

/** JSON has no `Infinity`. Until the faults are deleted. */
const always = z.pipe(
  z.literal('always'),
  z.transform(() => Number.POSITIVE_INFINITY),
);

const times = z._default(
  z.union([wholeNumber(1, Number.MAX_SAFE_INTEGER), always], {
    error: 'must be a whole number, 1 or more, or always',
  }),
  1,
);

export const noFields = strict({});

const { phone, network } = chargeMobileMoneyInputSchema.shape;

/** The fields of a merchant's request, and what only the sandbox can set. */
const newTransaction = strict({
  ...initializeInputSchema.shape,
  phone: z.optional(phone),
  network: z.optional(network),
  mode,
  returnUrl: z.optional(httpAddress),
  status,
}).check(
  z.refine((input) => (input.phone === undefined) === (input.network === undefined), {
    error: 'must have both phone and network for a charge, or none of them for a checkout payment',
  }),
  z.refine((input) => input.phone === undefined || input.returnUrl === undefined, {
    error: 'must have no returnUrl for a charge: it has no checkout page',
  }),
);

/** How a transaction changes: now or later, or a status for each verify. */
const transactionMove = strict({
  status,
  after: z.optional(wholeNumber(0, MAX_DELAY_MS)),
  script: z.optional(
    z
      .array(oneOf(transactionStatuses), { error: 'must be a list of statuses' })
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

/** Stands for the next transaction in place of its reference. */
const NEXT = 'next';

const links = {
  transactions: `${SCRIPT_API_PATH}/transactions`,
  requests: `${SCRIPT_API_PATH}/requests`,
  faults: `${SCRIPT_API_PATH}/faults`,
  webhooks: `${SCRIPT_API_PATH}/webhooks`,
  webhookFaults: `${SCRIPT_API_PATH}/webhooks/faults`,
  doubleCharges: `${SCRIPT_API_PATH}/double-charges`,
  advance: `${SCRIPT_API_PATH}/advance`,
  reset: `${SCRIPT_API_PATH}/reset`,
};

export type ScriptRoutes = ReturnType<typeof createScriptRoutes>;

/** Creates the whole API, each request by its method and its path. A GET has its fields in the query. */
export function createScriptRoutes(context: SandboxContext) {
  const { service, webhooks, controls, access, url, returnUrl = null } = context;
  const { ledger, faults, clock } = service;
  const view = (entry: Entry) => viewTransaction(entry, context);
  const listFaults = () => ({ faults: faults.pending.map(viewFault) });
  const listWebhookFaults = () => ({ faults: webhooks.pendingFaults.map(viewFault) });
  const listRequests = (limit: number, reference?: string, operation?: string) => {
    const isMatch = ({ request }: Exchange) => operation === undefined || request.operation === operation;
    return pickNewest(service.exchanges.filter(isMatch), limit, reference).map(viewExchange);
  };
  const listWebhooks = (limit = DEFAULT_LIMIT, reference?: string) => ({
    receiver: webhooks.url,
    webhooks: pickNewest(webhooks.deliveries, limit, reference).map(viewDelivery),
  });
  return {
    'GET /': respond(noFields, () => {
      const state = { now: clock.now(), transactions: ledger.size, returnUrl, webhookUrl: webhooks.url };
      return { ...access, url, ...state, links };
    }),

    'GET /transactions': respond(
      strict({
        status: z.optional(oneOf(statusFilters)),
        mode,
        search: z.optional(text),
        before: reference,
        limit,
      }),
      ({ limit, ...filter }) => {
        if (filter.before && !ledger.find(filter.before)) {
          throw new HttpRejection(400, 'before must be the reference of a transaction that is still kept.');
        }
        const { entries, total, newer } = findTransactions(ledger.list(), filter, limit);
        const last = newer + entries.length < total ? entries.at(-1) : undefined;
        const query = last && formatQuery({ ...filter, before: last.reference, limit });
        return { transactions: entries.map(view), total, next: query ? links.transactions + query : null };
      },
    ),
    'POST /transactions': create(newTransaction, (given) => view(createEntry(given, context))),
    'GET /transactions/:reference': respond(strict({ limit }), ({ limit }, reference) => ({
      ...view(findEntry(ledger, reference)),
      requests: listRequests(limit, reference),
      webhooks: listWebhooks(limit, reference).webhooks,
    })),
    'POST /transactions/:reference': respond(transactionMove, ({ status, after, script }, reference) => {
      const isNext = reference === NEXT;
      if (!isNext) findEntry(ledger, reference);
      if (script) controls.script(reference, script);
      else if (status && (isNext || after !== undefined)) controls.settleAfter(reference, after ?? 0, status);
      else if (status) ledger.end(reference, status);
      return isNext ? null : view(findEntry(ledger, reference));
    }),
    'GET /requests': respond(
      strict({ operation: z.optional(oneOf(operationNames)), reference, limit }),
      ({ operation, reference, limit }) => ({ requests: listRequests(limit, reference, operation) }),
    ),

    'GET /faults': respond(noFields, listFaults),
    'POST /faults': create(
      strict({ operation: oneOf(operationNames), fault: faultSchema, times }),
      ({ operation, fault, times }) => {
        service.orderFault(operation, fault, times);
        return listFaults();
      },
    ),
    'DELETE /faults': respond(noFields, () => faults.clear()),

    'GET /webhooks': respond(strict({ reference, limit }), ({ limit, reference }) =>
      listWebhooks(limit, reference),
    ),
    'POST /webhooks': create(
      strict({ reference: text, forged: z.optional(forgedFieldsSchema) }),
      ({ reference, forged }) => {
        findEntry(ledger, reference);
        if (webhooks.url !== null) return viewDelivery(webhooks.send(reference, forged));
        const path = `${links.webhooks}/receiver`;
        throw new HttpRejection(
          409,
          `Nothing receives webhooks. Set a receiver, in a script with PUT ${path}.`,
        );
      },
    ),
    'POST /webhooks/flush': respond(noFields, async () => {
      await webhooks.flush();
      return listWebhooks();
    }),
    'PUT /webhooks/receiver': respond(
      strict({ url: z.nullable(httpAddress), ...webhookOptionsSchema.shape }),
      ({ url, ...options }) => {
        webhooks.deliverTo(url, options);
        return { receiver: webhooks.url };
      },
    ),
    'GET /webhooks/faults': respond(noFields, listWebhookFaults),
    'POST /webhooks/faults': create(strict({ fault: webhookFaultSchema, times }), ({ fault, times }) => {
      webhooks.fault(fault, { times });
      return listWebhookFaults();
    }),
    'DELETE /webhooks/faults': respond(noFields, () => webhooks.clearFaults()),

    'GET /double-charges': respond(
      strict({ within: z._default(wholeText(0, MAX_DELAY_MS), Number.POSITIVE_INFINITY), limit }),
      ({ limit, within }) => ({ doubleCharges: findDoubleCharges(ledger.list(), { within }, limit) }),
    ),
    'POST /advance': respond(strict({ milliseconds: wholeNumber(0, MAX_DELAY_MS) }), ({ milliseconds }) => {
      clock.advance(milliseconds);
      return { now: clock.now() };
    }),
    'POST /reset': respond(noFields, () => controls.reset()),
  } satisfies Readonly<Record<string, ScriptRoute>>;
}

/** Creates a transaction that no shop has asked for. */
function createEntry(
  { phone, network, returnUrl, status, ...more }: z.output<typeof newTransaction>,
  { service: { ledger }, allowTestCharges }: SandboxContext,
): Entry {
  const isCharge = phone !== undefined && network !== undefined;
  const { mode = isCharge ? 'live' : 'test', ...payment } = more;
  if (isCharge && mode === 'test' && !allowTestCharges) {
    throw new HttpRejection(
      400,
      'Charging Mobile Money works in live mode only, unless the sandbox allows test charges.',
    );
  }
  const entry = ledger.create(isCharge ? { ...payment, phone, network } : payment, { mode, returnUrl });
  return status === undefined ? entry : ledger.end(entry.reference, status);
}

/** Returns the latest items, or those of one transaction, newest first. */
function pickNewest<Item extends { readonly reference: string | null }>(
  items: readonly Item[],
  limit: number,
  reference?: string,
): Item[] {
  const found = reference === undefined ? items : items.filter((item) => item.reference === reference);
  return found.slice(-limit).reverse();
}
