import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { Hono } from 'hono/tiny';
import type * as z from 'zod/mini';
import { isRecord } from '../../support/untrusted.ts';
import type { PaymentControls } from '../mock/controls.ts';
import { findDoubleCharges } from '../mock/double-charge.ts';
import type { Entry } from '../service/ledger.ts';
import type { Exchange, PaymentService } from '../service/service.ts';
import { HttpRejection } from '../service/validate-request.ts';
import type { Webhooks } from '../service/webhooks.ts';
import { findTransactions } from './find-transactions.ts';
import { refuseOtherScripts } from './guards.ts';
import type { Access } from './options.ts';
import { findEntry, parseBody, parseQuery, refuseInvalid } from './request.ts';
import {
  DEFAULT_LIMIT,
  doubleChargesQuery,
  newFault,
  newTransaction,
  newWebhook,
  newWebhookFault,
  noFields,
  requestsQuery,
  timeStep,
  transactionMove,
  transactionQuery,
  transactionsQuery,
  webhookReceiver,
  webhooksQuery,
} from './script-api-schemas.ts';
import { viewDelivery, viewExchange, viewFault, viewTransaction } from './script-api-views.ts';

/** The path of the API for scripts: docs/reference/payment-sandbox.md, "Use the script API". The service has none. */
export const SCRIPT_API_PATH = '/sandbox';

const MAX_BODY_BYTES = 65_536;

export interface ScriptApiContext {
  readonly service: PaymentService;
  readonly webhooks: Webhooks;
  readonly controls: PaymentControls;
  readonly access: Access;
  readonly url: string;
  /** Where the checkout page leads back to, unless the payment names another address. */
  readonly returnUrl: string | undefined;
  readonly allowTestCharges: boolean;
}

/** Creates the API by which scripts and tests do what the pages and the object `sandbox` do. */
export function createScriptApi(context: ScriptApiContext): Hono {
  const app = new Hono();
  app.onError((error, c) => {
    if (error instanceof HttpRejection) return toErrorResponse(error, c);
    throw error;
  });
  const refuseLargeBody = () => {
    throw new HttpRejection(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  };
  app.use(refuseOtherScripts(context.url), bodyLimit({ maxSize: MAX_BODY_BYTES, onError: refuseLargeBody }));
  for (const [path, routes] of Map.groupBy(createRoutes(context), ({ path }) => path)) {
    for (const { method, handle } of routes) app.on(method, path, handle);
    const allow = routes.map(({ method }) => method).join(', ');
    app.all(path, () => {
      throw new HttpRejection(405, `Use ${allow}.`, { headers: { allow } });
    });
  }
  app.all('*', () => {
    throw new HttpRejection(404, `There is no such path. ${SCRIPT_API_PATH} lists what there is.`);
  });
  return app;
}

const MAX_MESSAGE_CHARS = 200;

/** The path of a field is such as `fault.kind`: empty for the whole body. */
function toErrorResponse({ status, message, fields, headers }: HttpRejection, c: Context): Response {
  const sentence = /[.?]$/.test(message) ? message : `${message}.`;
  const whole = `${sentence} Nothing was changed.`;
  const issues = fields.map((issue) => ({ path: issue.field, message: issue.message }));
  const error = {
    message: whole.length > MAX_MESSAGE_CHARS ? sentence : whole,
    ...(issues.length > 0 ? { issues } : {}),
  };
  const response = Response.json({ error }, { status, headers: { ...headers } });
  return c.newResponse(response.body, response);
}

interface ScriptRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  handle(c: Context): Promise<Response>;
}

/** Responds with what `act` returns, or with 204. */
type CreateRoute = <Fields>(
  path: string,
  fields: z.ZodMiniType<Fields>,
  act: (fields: Fields, c: Context) => unknown,
) => ScriptRoute;

/**
 * A GET has its fields in the query. Any other request has them in its body, and no query, which would not narrow what it
 * changes.
 */
function routeBy(method: ScriptRoute['method'], status: 200 | 201 = 200): CreateRoute {
  return (path, fields, act) => ({
    method,
    path,
    handle: async (c) => {
      if (method !== 'GET') parseQuery(c, noFields);
      const result = await act(method === 'GET' ? parseQuery(c, fields) : await parseBody(c, fields), c);
      return isRecord(result) ? c.json(result, status) : c.body(null, 204);
    },
  });
}

const read = routeBy('GET');
const create = routeBy('POST', 201);
const post = routeBy('POST');
const put = routeBy('PUT');
const remove = routeBy('DELETE');

/** Stands for the next transaction in place of its reference. */
const NEXT = 'next';

/** The whole API: what each request takes, and the control of the sandbox that it uses. */
function createRoutes(context: ScriptApiContext): ScriptRoute[] {
  const { service, webhooks, controls } = context;
  const { ledger, faults, clock } = service;
  const view = (entry: Entry) => viewTransaction(entry, context);
  const findNamed = (c: Context) => findEntry(ledger, c.req.param('reference'));
  const listFaults = () => ({ faults: faults.pending.map(viewFault) });
  const listWebhookFaults = () => ({ faults: webhooks.pendingFaults.map(viewFault) });
  const listRequests = (limit: number, reference?: string, operation?: string) => {
    const isMatch = ({ request }: Exchange) => operation === undefined || request.operation === operation;
    return pickNewest(service.exchanges.filter(isMatch), limit, reference).map(viewExchange);
  };
  const listWebhooks = (limit = DEFAULT_LIMIT, reference?: string) =>
    pickNewest(webhooks.deliveries, limit, reference).map(viewDelivery);
  return [
    read('/', noFields, () => ({
      ...context.access,
      url: context.url,
      now: clock.now(),
      transactions: ledger.size,
      returnUrl: context.returnUrl ?? null,
      webhookUrl: webhooks.url,
      links,
    })),

    read('/transactions', transactionsQuery, (query, c) => {
      const { limit, status = '', mode = '', search = '', before = '' } = query;
      const filter = { status, mode, search, before };
      if (before !== '' && !ledger.find(before)) {
        throw new HttpRejection(400, 'before must be the reference of a transaction that is still kept.');
      }
      const { entries, total, newer } = findTransactions(ledger.list(), filter, limit);
      const last = newer + entries.length < total ? entries.at(-1) : undefined;
      const next = last && new URLSearchParams({ ...c.req.query(), before: last.reference });
      return { transactions: entries.map(view), total, next: next ? `${links.transactions}?${next}` : null };
    }),
    create('/transactions', newTransaction, (given) => view(createEntry(given, context))),
    read('/transactions/:reference', transactionQuery, ({ limit }, c) => {
      const entry = findNamed(c);
      const { reference } = entry;
      return {
        ...view(entry),
        requests: listRequests(limit, reference),
        webhooks: listWebhooks(limit, reference),
      };
    }),
    post('/transactions/:reference', transactionMove, ({ status, after, script }, c) => {
      const isNext = c.req.param('reference') === NEXT;
      const reference = isNext ? NEXT : findNamed(c).reference;
      if (script) controls.script(reference, script);
      else if (status && (isNext || after !== undefined)) controls.settleAfter(reference, after ?? 0, status);
      else if (status) ledger.end(reference, status);
      return isNext ? null : view(findNamed(c));
    }),
    read('/requests', requestsQuery, ({ operation, reference, limit }) => ({
      requests: listRequests(limit, reference, operation),
    })),

    read('/faults', noFields, listFaults),
    create('/faults', newFault, ({ operation, fault, times }) => {
      refuseInvalid(() => service.orderFault(operation, fault, times));
      return listFaults();
    }),
    remove('/faults', noFields, () => faults.clear()),

    read('/webhooks', webhooksQuery, ({ limit, reference }) => ({
      receiver: webhooks.url,
      webhooks: listWebhooks(limit, reference),
    })),
    create('/webhooks', newWebhook, ({ reference, forged }) => {
      findEntry(ledger, reference);
      if (webhooks.url === null) {
        const path = `${links.webhooks}/receiver`;
        throw new HttpRejection(409, `Nothing receives webhooks. Set a receiver: PUT ${path}.`);
      }
      return viewDelivery(refuseInvalid(() => webhooks.send(reference, forged)));
    }),
    post('/webhooks/flush', noFields, async () => {
      await webhooks.flush();
      return { receiver: webhooks.url, webhooks: listWebhooks() };
    }),
    put('/webhooks/receiver', webhookReceiver, ({ url, ...options }) => {
      refuseInvalid(() => webhooks.deliverTo(url, options));
      return { receiver: webhooks.url };
    }),
    read('/webhooks/faults', noFields, listWebhookFaults),
    create('/webhooks/faults', newWebhookFault, ({ fault, times }) => {
      refuseInvalid(() => webhooks.fault(fault, { times }));
      return listWebhookFaults();
    }),
    remove('/webhooks/faults', noFields, () => webhooks.clearFaults()),

    read('/double-charges', doubleChargesQuery, ({ limit, within }) => ({
      doubleCharges: findDoubleCharges(ledger.list(), { within }, limit),
    })),
    post('/advance', timeStep, ({ milliseconds }) => {
      refuseInvalid(() => clock.advance(milliseconds));
      return { now: clock.now() };
    }),
    post('/reset', noFields, () => controls.reset()),
  ];
}

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

/** Creates a transaction that no shop has asked for. */
function createEntry(
  { phone, network, returnUrl, status, ...more }: z.output<typeof newTransaction>,
  { service: { ledger }, allowTestCharges }: ScriptApiContext,
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
