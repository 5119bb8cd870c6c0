import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import type * as z from 'zod/mini';
import { createControls } from '../mock/controls.ts';
import { findDoubleCharges } from '../mock/double-charge.ts';
import type { Entry } from '../service/ledger.ts';
import { HttpRejection } from '../service/validate-request.ts';
import { findTransactions } from './find-transactions.ts';
import type { PageContext } from './routes.ts';
import {
  limitBody,
  parseBody,
  parseQuery,
  refuseInvalid,
  refuseOtherSites,
  toErrorResponse,
} from './script-api-request.ts';
import * as schemas from './script-api-schemas.ts';
import { viewDelivery, viewExchange, viewFault, viewTransaction } from './script-api-views.ts';

/** The path of the API for scripts: docs/reference/sandbox-api.md. It is the sandbox's own, and not the service's. */
export const SCRIPT_API_PATH = '/sandbox';

interface ScriptApiContext extends PageContext {
  /** The address of the sandbox. */
  readonly url: string;
  readonly allowTestCharges: boolean;
}

/** Creates the API by which scripts and tests do what the pages and the object `sandbox` do. */
export function createScriptApi(context: ScriptApiContext): Hono {
  const app = new Hono();
  app.onError((error, c) => {
    if (error instanceof HttpRejection) return toErrorResponse(error, c);
    throw error;
  });
  app.use(refuseOtherSites(context.url), limitBody, async (c, next) => {
    await next();
    // Every open page shows what a write has changed.
    if (c.req.method !== 'GET') context.activity.notifyChange();
  });
  const routes = {
    '/': { GET: read(schemas.noFields, () => describeSandbox(context)) },
    ...createTransactionRoutes(context),
    ...createFaultRoutes(context),
    ...createWebhookRoutes(context),
    ...createTestRoutes(context),
  };
  for (const [path, methods] of Object.entries(routes)) {
    for (const [method, handle] of Object.entries(methods)) app.on(method, path, handle);
    const allow = Object.keys(methods).join(', ');
    app.all(path, () => {
      throw new HttpRejection(405, `Use ${allow}. Nothing was changed.`, { headers: { allow } });
    });
  }
  app.all('*', () => {
    const paths = `${SCRIPT_API_PATH} lists what there is`;
    throw new HttpRejection(404, `There is no such path. ${paths}. Nothing was changed.`);
  });
  return app;
}

type Handler = (c: Context) => Response | Promise<Response>;

/** What handles each method of a path below {@link SCRIPT_API_PATH}. */
type Routes = Readonly<Record<string, Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Handler>>>>;

/** Handles a read, and responds with what `view` returns. */
function read<Query>(schema: z.ZodMiniType<Query>, view: (query: Query, c: Context) => object): Handler {
  return (c) => c.json(view(parseQuery(c, schema), c));
}

/**
 * Handles a write, and responds with what `act` returns, or with 204. It refuses a query, which would not narrow what
 * changes.
 */
function write<Body>(
  schema: z.ZodMiniType<Body>,
  act: (body: Body, c: Context) => object | undefined | Promise<object>,
  status: 200 | 201 = 200,
): Handler {
  return async (c) => {
    parseQuery(c, schemas.noFields);
    const result = await act(await parseBody(c, schema), c);
    return result ? c.json(result, status) : c.body(null, 204);
  };
}

/** Handles a write that takes nothing, and shows nothing. */
function clear(act: () => void): Handler {
  return write(schemas.noFields, () => {
    act();
    return undefined;
  });
}

function describeSandbox({ access, url, service, webhooks, returnUrl }: ScriptApiContext) {
  const pathTo = (name: string) => `${SCRIPT_API_PATH}/${name}`;
  return {
    ...access,
    url,
    now: service.clock.now(),
    transactions: service.ledger.size,
    returnUrl: returnUrl ?? null,
    webhookUrl: webhooks.url,
    links: {
      transactions: pathTo('transactions'),
      requests: pathTo('requests'),
      faults: pathTo('faults'),
      webhooks: pathTo('webhooks'),
      webhookFaults: pathTo('webhooks/faults'),
      doubleCharges: pathTo('double-charges'),
      advance: pathTo('advance'),
      reset: pathTo('reset'),
    },
  };
}

/** @throws {HttpRejection} if there is no such transaction */
function findEntry({ service }: ScriptApiContext, reference: string): Entry {
  const entry = service.ledger.find(reference);
  if (entry) return entry;
  throw new HttpRejection(404, 'There is no transaction with this reference. Nothing was changed.');
}

/** Stands for the next transaction in place of its reference. */
const NEXT = 'next';

function createTransactionRoutes(context: ScriptApiContext): Routes {
  const { service, webhooks, url, returnUrl, allowTestCharges } = context;
  const { ledger } = service;
  const view = (entry: Entry) => viewTransaction(entry, { ledger, url, returnUrl });
  return {
    '/transactions': {
      GET: read(schemas.transactionsQuery, (query, c) => {
        const { status = '', mode = '', search = '', before = '', limit } = query;
        if (before !== '' && !ledger.find(before)) {
          throw new HttpRejection(400, 'before must be the reference of a transaction that is still kept.');
        }
        const filter = { status, mode, search, before };
        const { entries, total, newer } = findTransactions(ledger.list(), filter, limit);
        const last = newer + entries.length < total ? entries.at(-1) : undefined;
        const next = last && new URLSearchParams({ ...c.req.query(), before: last.reference });
        return {
          transactions: entries.map(view),
          total,
          next: next ? `${SCRIPT_API_PATH}/transactions?${next}` : null,
        };
      }),
      POST: write(
        schemas.newTransaction,
        ({ phone, network, returnUrl, status, ...more }) => {
          const isCharge = phone !== undefined && network !== undefined;
          const { mode = isCharge ? 'live' : 'test', ...payment } = more;
          if (isCharge && mode === 'test' && !allowTestCharges) {
            throw new HttpRejection(
              400,
              'Charging Mobile Money works in live mode only, unless the sandbox allows test charges. Nothing was created.',
            );
          }
          const input = isCharge ? { ...payment, phone, network } : payment;
          const entry = ledger.create(input, { mode, returnUrl });
          return view(status === undefined ? entry : ledger.settle(entry.reference, status));
        },
        201,
      ),
    },
    '/transactions/:reference': {
      GET: read(schemas.transactionQuery, ({ limit }, c) => {
        const entry = findEntry(context, c.req.param('reference') ?? '');
        const isOwn = ({ reference }: { reference: string | null }) => reference === entry.reference;
        return {
          ...view(entry),
          requests: takeNewest(service.exchanges.filter(isOwn), limit).map(viewExchange),
          webhooks: takeNewest(webhooks.deliveries.filter(isOwn), limit).map(viewDelivery),
        };
      }),
      POST: write(schemas.transactionMove, ({ status, after, script }, c) => {
        const reference = c.req.param('reference') ?? '';
        if (reference !== NEXT) findEntry(context, reference);
        if (script) ledger.script(reference, script);
        else if (status && (after !== undefined || reference === NEXT))
          ledger.settleAfter(reference, after ?? 0, status);
        else if (status) ledger.settle(reference, status);
        return reference === NEXT ? undefined : view(findEntry(context, reference));
      }),
    },
    '/requests': {
      GET: read(schemas.requestsQuery, ({ operation, reference, limit }) => {
        const found = service.exchanges.filter(
          ({ request, reference: own }) =>
            (operation === undefined || request.operation === operation) &&
            (reference === undefined || own === reference),
        );
        return { requests: takeNewest(found, limit).map(viewExchange) };
      }),
    },
  };
}

function createFaultRoutes({ service, webhooks }: ScriptApiContext): Routes {
  const list = () => ({ faults: service.faults.pending.map(viewFault) });
  const listOfWebhooks = () => ({ faults: webhooks.pendingFaults.map(viewFault) });
  return {
    '/faults': {
      GET: read(schemas.noFields, list),
      POST: write(
        schemas.newFault,
        ({ operation, fault, times }) => {
          refuseInvalid(() => service.orderFault(operation, fault, toCount(times)));
          return list();
        },
        201,
      ),
      DELETE: clear(() => service.faults.clear()),
    },
    '/webhooks/faults': {
      GET: read(schemas.noFields, listOfWebhooks),
      POST: write(
        schemas.newWebhookFault,
        ({ fault, times }) => {
          refuseInvalid(() => webhooks.fault(fault, { times: toCount(times) }));
          return listOfWebhooks();
        },
        201,
      ),
      DELETE: clear(() => webhooks.clearFaults()),
    },
  };
}

function createWebhookRoutes(context: ScriptApiContext): Routes {
  const { webhooks } = context;
  const list = (limit: number, reference?: string) => {
    const found = webhooks.deliveries.filter(
      (delivery) => reference === undefined || delivery.reference === reference,
    );
    return { receiver: webhooks.url, webhooks: takeNewest(found, limit).map(viewDelivery) };
  };
  return {
    '/webhooks': {
      GET: read(schemas.webhooksQuery, ({ limit, reference }) => list(limit, reference)),
      POST: write(
        schemas.newWebhook,
        ({ reference, forged }) => {
          findEntry(context, reference);
          if (webhooks.url === null) {
            throw new HttpRejection(
              409,
              `Nothing receives webhooks, so nothing was sent. Set a receiver: PUT ${SCRIPT_API_PATH}/webhooks/receiver.`,
            );
          }
          return viewDelivery(refuseInvalid(() => webhooks.send(reference, forged)));
        },
        201,
      ),
    },
    '/webhooks/flush': {
      POST: write(schemas.noFields, async () => {
        await webhooks.flush();
        return list(schemas.DEFAULT_LIMIT);
      }),
    },
    '/webhooks/receiver': {
      PUT: write(schemas.webhookReceiver, ({ url, ...options }) => {
        refuseInvalid(() => webhooks.deliverTo(url, options));
        return { receiver: webhooks.url };
      }),
    },
  };
}

/** What a test does around its steps: it looks for double charges, moves the time, and begins anew. */
function createTestRoutes({ service, webhooks }: ScriptApiContext): Routes {
  return {
    '/double-charges': {
      GET: read(schemas.doubleChargesQuery, ({ within = Number.POSITIVE_INFINITY, limit }) => ({
        doubleCharges: findDoubleCharges(service.ledger.list(), { within }, limit),
      })),
    },
    '/advance': {
      POST: write(schemas.timeStep, ({ milliseconds }) => {
        refuseInvalid(() => service.clock.advance(milliseconds));
        return { now: service.clock.now() };
      }),
    },
    '/reset': {
      POST: clear(() => createControls(service, webhooks).reset()),
    },
  };
}

/** JSON has no `Infinity`. */
function toCount(times: number | 'always'): number {
  return times === 'always' ? Number.POSITIVE_INFINITY : times;
}

function takeNewest<T>(items: readonly T[], limit: number): T[] {
  return items.slice(-limit).reverse();
}
