import type { OperationName } from '../../../src/api/operations.ts';
import { charge, successBodies } from '../service.ts';
import type { ServiceDescription } from './description.ts';

/** A charge as it is on the wire. */
export const sent = { ...charge, amount: 25.5, currency: 'GHS' };
const { phone: _phone, network: _network, ...startedPayment } = sent;
const wireRequests = {
  initialize: { method: 'POST', path: '/transactions/initialize', body: JSON.stringify(startedPayment) },
  chargeMobileMoney: {
    method: 'POST',
    path: '/transactions/charge-mobile-money',
    body: JSON.stringify(sent),
  },
  verify: { method: 'GET', path: '/transactions/verify/TXN-8f2c61d0', body: '' },
};

export interface Change {
  method?: string;
  path?: string;
  body?: string;
  headers?: Record<string, string | null>;
}

/** Lists what a description finds wrong with a request, after a change. */
export function judgeRequest(
  description: ServiceDescription,
  name: OperationName,
  { headers = {}, ...change }: Change,
): string[] {
  const request = { ...wireRequests[name], ...change };
  const all = new Headers({
    authorization: 'Bearer sk_live_1',
    'x-request-id': 'b6f0',
    'user-agent': 'test',
    ...(request.method === 'GET' ? {} : { 'content-type': 'application/json' }),
  });
  for (const [header, value] of Object.entries(headers)) {
    if (value === null) all.delete(header);
    else all.set(header, value);
  }
  return description.findRequestIssues({ ...request, headers: all });
}

/** Lists what a description finds wrong with a response. Fields of `data` that are `undefined` are left out. */
export function judgeResponse(
  description: ServiceDescription,
  name: OperationName,
  { data = {}, envelope = {}, body, status = 200, type = 'application/json' }: ResponseChange,
): string[] {
  const headers = new Headers(type === null ? {} : { 'content-type': type });
  const text = body ?? JSON.stringify({ ...successBodies[name](data), ...envelope });
  return description.findResponseIssues(wireRequests[name], { status, headers, body: text });
}

export interface ResponseChange {
  data?: Record<string, unknown>;
  envelope?: Record<string, unknown>;
  body?: string;
  status?: number;
  type?: string | null;
}
