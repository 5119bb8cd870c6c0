import { createRedact } from '../../support/redact.ts';
import { isRecord, orUndefined } from '../../support/untrusted.ts';
import type { Entry } from '../service/ledger.ts';
import { toTransactionData } from '../service/responses.ts';
import type { Exchange } from '../service/service.ts';
import type { WebhookDelivery } from '../service/webhook-delivery.ts';
import type { SandboxContext } from './context.ts';
import { LIVE_KEY } from './options.ts';

/** Returns a transaction as the API shows it: wire names for the fields of the wire, epoch milliseconds for times. */
export function viewTransaction(entry: Entry, { service, url, returnUrl }: SandboxContext) {
  const { reference, mode, failure, mobileMoney, createdAt, changedAt, plan } = entry;
  const { status, amount, currency, customer_email, paid_at } = toTransactionData(entry, entry.status);
  return {
    reference,
    mode,
    status,
    /** What a verify reports now. It differs from `status` while a webhook is early. */
    reportedStatus: service.ledger.getReportedStatus(entry),
    failure,
    amount,
    currency,
    customer_email,
    phone: mobileMoney?.phone ?? null,
    network: mobileMoney?.network ?? null,
    paid_at,
    createdAt,
    changedAt,
    checkoutUrl: mobileMoney ? null : `${url}/checkout/${reference}`,
    returnUrl: mobileMoney ? null : (entry.returnUrl ?? returnUrl ?? null),
    plan: viewPlan(plan),
  };
}

function viewPlan(plan: Entry['plan']) {
  if (!plan) return null;
  return 'statuses' in plan ? { script: plan.statuses } : { status: plan.status, settleAt: plan.settleAt };
}

/** Returns a request with its response, without any API key. */
export function viewExchange(exchange: Exchange): object {
  const { request, at, mode, hasKey, reference, found, status, fault, errorBody, duration } = exchange;
  const { operation, method, path, headers } = request;
  const requestId = headers['x-request-id'] ?? null;
  const sent = { at, operation, method, path, hasKey, mode, requestId, headers };
  const received = { reference, found, status, errorBody, fault, duration };
  const view = (body: unknown) => redactKeys({ ...sent, body, ...received });
  // JSON that is nested deep can be read, but perhaps not written.
  return orUndefined(() => view(request.body)) ?? view('[nested too deep to show]');
}

/** Returns a webhook with its attempts, without any API key that the receiver sent back. */
export function viewDelivery(delivery: WebhookDelivery): object {
  return redactKeys(delivery);
}

/** Returns what is ordered, in JSON: it has no `Infinity`. */
export function viewFault<Queued extends { readonly remaining: number }>(queued: Queued) {
  const { remaining } = queued;
  return { ...queued, remaining: remaining === Number.POSITIVE_INFINITY ? 'always' : remaining };
}

const { secrets: redactKey } = createRedact([LIVE_KEY]);

/** Redacts what looks like an API key in every text of a value, and in the names of its fields. */
function redactKeys<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_, item: unknown) => {
    if (typeof item === 'string') return redactKey(item);
    if (!isRecord(item)) return item;
    return Object.fromEntries(Object.entries(item).map(([name, field]) => [redactKey(name), field]));
  });
}
