import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { createControls, type PaymentControls } from '../testing/controls.ts';
import { findDoubleCharges } from '../testing/double-charge.ts';
import type { Entry, FinalStatus } from '../testing/ledger.ts';
import { HttpRejection } from '../testing/validate-request.ts';
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

type Handler = (c: Context) => Response | Promise<Response>;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Creates the API by which scripts and tests do what the pages and the object `sandbox` do. */
export function createScriptApi(context: ScriptApiContext): Hono {
  const app = new Hono();
  app.onError((error, c) => {
    if (error instanceof HttpRejection) return toErrorResponse(error, c);
    throw error;
  });
  app.use(refuseOtherSites(context.url), limitBody);
  for (const [path, methods] of Object.entries(createRoutes(context))) {
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

/** Returns what handles each path below {@link SCRIPT_API_PATH}. */
function createRoutes(context: ScriptApiContext): Record<string, Partial<Record<Method, Handler>>> {
  const { service, webhooks, activity } = context;
  const controls = createControls(service, webhooks);
  /** Refuses a query, which would not narrow what changes. Every open page shows the change. */
  const write =
    (handle: Handler): Handler =>
    async (c) => {
      parseQuery(c, schemas.noFields);
      try {
        return await handle(c);
      } finally {
        activity.notifyChange();
      }
    };
  return {
    '/': { GET: readWithoutQuery(() => describeSandbox(context)) },
    ...createTransactionRoutes(context, controls, write),
    '/requests': {
      GET: (c) => {
        const { operation, reference, limit } = parseQuery(c, schemas.requestsQuery);
        const found = service.exchanges.filter(
          ({ request, reference: own }) =>
            (operation === undefined || request.operation === operation) &&
            (reference === undefined || own === reference),
        );
        return c.json({ requests: takeNewest(found, limit).map(viewExchange) });
      },
    },
    '/faults': {
      GET: readWithoutQuery(() => ({ faults: service.faults.pending.map(viewFault) })),
      POST: write(async (c) => {
        const { operation, fault, times } = await parseBody(c, schemas.newFault);
        refuseInvalid(() => service.orderFault(operation, fault, toCount(times)));
        return c.json({ faults: service.faults.pending.map(viewFault) }, 201);
      }),
      DELETE: write((c) => {
        service.faults.clear();
        return c.body(null, 204);
      }),
    },
    ...createWebhookRoutes(context, write),
    '/double-charges': {
      GET: (c) => {
        const { within = Number.POSITIVE_INFINITY, limit } = parseQuery(c, schemas.doubleChargesQuery);
        return c.json({ doubleCharges: findDoubleCharges(service.ledger.list(), within, limit) });
      },
    },
    '/advance': {
      POST: write(async (c) => {
        const { milliseconds } = await parseBody(c, schemas.timeStep);
        refuseInvalid(() => service.clock.advance(milliseconds));
        return c.json({ now: service.clock.now() });
      }),
    },
    '/reset': {
      POST: write(async (c) => {
        await parseBody(c, schemas.noFields);
        controls.reset();
        return c.body(null, 204);
      }),
    },
  };
}

function readWithoutQuery(view: () => object): Handler {
  return (c) => {
    parseQuery(c, schemas.noFields);
    return c.json(view());
  };
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

function createTransactionRoutes(
  context: ScriptApiContext,
  controls: PaymentControls,
  write: (handle: Handler) => Handler,
): Record<string, Partial<Record<Method, Handler>>> {
  const { service, webhooks, url, returnUrl, allowTestCharges } = context;
  const { ledger } = service;
  const view = (entry: Entry) => viewTransaction(entry, { ledger, url, returnUrl });
  const settle: Record<FinalStatus, (reference: string) => unknown> = {
    success: controls.approve,
    failed: controls.decline,
    abandoned: controls.abandon,
  };
  const find = (reference: string): Entry => {
    const entry = ledger.find(reference);
    if (entry) return entry;
    throw new HttpRejection(404, 'There is no transaction with this reference. Nothing was changed.');
  };
  return {
    '/transactions': {
      GET: (c) => {
        const query = parseQuery(c, schemas.transactionsQuery);
        const { status = '', mode = '', search = '', before = '', limit } = query;
        if (before !== '' && !ledger.find(before)) {
          throw new HttpRejection(400, 'before must be the reference of a transaction that is still kept.');
        }
        const { entries, total, newer } = findTransactions(
          ledger.list(),
          { status, mode, search, before },
          limit,
        );
        const last = newer + entries.length < total ? entries.at(-1) : undefined;
        const next = last && new URLSearchParams({ ...c.req.query(), before: last.reference });
        return c.json({
          transactions: entries.map(view),
          total,
          next: next ? `${SCRIPT_API_PATH}/transactions?${next}` : null,
        });
      },
      POST: write(async (c) => {
        const { phone, network, returnUrl, status, ...more } = await parseBody(c, schemas.newTransaction);
        const isCharge = phone !== undefined && network !== undefined;
        const { mode = isCharge ? 'live' : 'test', ...payment } = more;
        if (isCharge && mode === 'test' && !allowTestCharges) {
          throw new HttpRejection(
            400,
            'Charging Mobile Money works in live mode only, unless the sandbox allows test charges. Nothing was created.',
          );
        }
        const input = isCharge ? { ...payment, phone, network } : payment;
        const { reference } = ledger.create(input, { mode, returnUrl });
        if (status !== undefined) settle[status](reference);
        return c.json(view(find(reference)), 201);
      }),
    },
    '/transactions/:reference': {
      GET: (c) => {
        const entry = find(c.req.param('reference') ?? '');
        const isOwn = ({ reference }: { reference: string | null }) => reference === entry.reference;
        const { limit } = parseQuery(c, schemas.transactionQuery);
        return c.json({
          ...view(entry),
          requests: takeNewest(service.exchanges.filter(isOwn), limit).map(viewExchange),
          webhooks: takeNewest(webhooks.deliveries.filter(isOwn), limit).map(viewDelivery),
        });
      },
      POST: write(async (c) => {
        const reference = c.req.param('reference') ?? '';
        if (reference !== NEXT) find(reference);
        const { status, after, script } = await parseBody(c, schemas.transactionMove);
        if (script) controls.script(reference, script);
        else if (status && (after !== undefined || reference === NEXT))
          controls.settleAfter(reference, after ?? 0, status);
        else if (status) settle[status](reference);
        return reference === NEXT ? c.body(null, 204) : c.json(view(find(reference)));
      }),
    },
  };
}

/** Stands for the next transaction in place of its reference. */
const NEXT = 'next';

function createWebhookRoutes(
  { service, webhooks }: ScriptApiContext,
  write: (handle: Handler) => Handler,
): Record<string, Partial<Record<Method, Handler>>> {
  const list = (limit: number, reference?: string) => {
    const found = webhooks.deliveries.filter(
      (delivery) => reference === undefined || delivery.reference === reference,
    );
    return { receiver: webhooks.url, webhooks: takeNewest(found, limit).map(viewDelivery) };
  };
  return {
    '/webhooks': {
      GET: (c) => {
        const { limit, reference } = parseQuery(c, schemas.webhooksQuery);
        return c.json(list(limit, reference));
      },
      POST: write(async (c) => {
        const { reference, forged } = await parseBody(c, schemas.newWebhook);
        if (!service.ledger.find(reference)) {
          throw new HttpRejection(404, 'There is no transaction with this reference. Nothing was sent.');
        }
        if (webhooks.url === null) {
          throw new HttpRejection(
            409,
            `Nothing receives webhooks, so nothing was sent. Set a receiver: PUT ${SCRIPT_API_PATH}/webhooks/receiver.`,
          );
        }
        return c.json(viewDelivery(refuseInvalid(() => webhooks.send(reference, forged))), 201);
      }),
    },
    '/webhooks/flush': {
      POST: write(async (c) => {
        await parseBody(c, schemas.noFields);
        await webhooks.flush();
        return c.json(list(schemas.DEFAULT_LIMIT));
      }),
    },
    '/webhooks/receiver': {
      PUT: write(async (c) => {
        const { url, ...options } = await parseBody(c, schemas.webhookReceiver);
        refuseInvalid(() => webhooks.deliverTo(url, options));
        return c.json({ receiver: webhooks.url });
      }),
    },
    '/webhooks/faults': {
      GET: readWithoutQuery(() => ({ faults: webhooks.pendingFaults.map(viewFault) })),
      POST: write(async (c) => {
        const { fault, times } = await parseBody(c, schemas.newWebhookFault);
        refuseInvalid(() => webhooks.fault(fault, { times: toCount(times) }));
        return c.json({ faults: webhooks.pendingFaults.map(viewFault) }, 201);
      }),
      DELETE: write((c) => {
        webhooks.clearFaults();
        return c.body(null, 204);
      }),
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
