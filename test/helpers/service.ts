import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { PaymentsClient, type PaymentsClientOptions } from '../../src/index.ts';
import { listenForTest } from './listen.ts';
import { transportFor } from './transport-under-test.ts';

export const API_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
export const EMAIL = 'ama.serwaa@example.com';
export const PHONE = '024 412 3456';

export const payment = { amount: '25.50', customer_email: EMAIL } as const;
export const charge = { ...payment, phone: PHONE, network: 'mtn' } as const;

/** The success bodies of docs/reference/service.md, with changes to their `data`. */
export const successBodies = {
  initialize: (data = {}) => ({
    status: true,
    data: {
      reference: 'TXN-8f2c61d0',
      checkout_url: 'https://pay.example/checkout/TXN-8f2c61d0',
      amount: '25.50',
      currency: 'GHS',
      ...data,
    },
  }),
  chargeMobileMoney: (data = {}) => ({
    status: true,
    message: "A prompt has been sent to the customer's phone.",
    data: { reference: 'TXN-8f2c61d0', status: 'processing', amount: '25.50', currency: 'GHS', ...data },
  }),
  verify: (data = {}) => ({
    status: true,
    data: {
      reference: 'TXN-8f2c61d0',
      status: 'success',
      amount: '25.50',
      currency: 'GHS',
      customer_email: EMAIL,
      paid_at: '2026-11-21T10:15:00+00:00',
      ...data,
    },
  }),
};

interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Responds to one request. `count` is 1 for the first request. */
export type Respond = (response: ServerResponse, request: RecordedRequest, count: number) => unknown;

export interface Service {
  baseUrl: string;
  server: Server;
  requests: RecordedRequest[];
  /** Creates a client of this service. By default it makes no retries. */
  client(options?: PaymentsClientOptions): PaymentsClient;
}

/** Responds to each request with the success of its operation. */
const respondWithSuccess: Respond = (response, { path }) => {
  const operation = path.includes('/verify/')
    ? 'verify'
    : path.endsWith('/initialize')
      ? 'initialize'
      : 'chargeMobileMoney';
  sendJson(response, 200, successBodies[operation]());
};

/** A status, with a body and headers. A body that is text or bytes is sent as it is, and any other as JSON. */
type ResponseArgs = [respond: Respond] | [status: number, body?: unknown, headers?: Record<string, string>];

function toRespond([first, body = {}, headers = {}]: ResponseArgs): Respond {
  if (typeof first !== 'number') return first;
  return (response) => {
    if (typeof body === 'string' || body instanceof Uint8Array) response.writeHead(first, headers).end(body);
    else sendJson(response, first, body, headers);
  };
}

/** Responds to the first request in a way of its own, and to later ones with success. */
export function respondFirst(...args: ResponseArgs): Respond {
  const first = toRespond(args);
  return (response, request, count) => (count === 1 ? first : respondWithSuccess)(response, request, count);
}

/** Starts an HTTP service on loopback, which responds to each request in one way: by default with success. It is stopped when the test ends. */
export async function startService(...args: ResponseArgs | []): Promise<Service> {
  const respond = args.length === 0 ? respondWithSuccess : toRespond(args);
  const requests: RecordedRequest[] = [];
  const listener: RequestListener = async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const recorded = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
    };
    requests.push(recorded);
    await respond(response, recorded, requests.length);
  };
  const server = createServer((request, response) => {
    Promise.resolve(listener(request, response)).catch(() => response.destroy());
  });
  const port = await listenForTest(server);
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  return {
    baseUrl,
    server,
    requests,
    client: (options) =>
      new PaymentsClient({ apiKey: API_KEY, baseUrl, maxRetries: 0, ...transportFor(options), ...options }),
  };
}

/** Responds with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Returns the error of a promise. A promise that resolves fails the test. */
export async function catchError(promise: Promise<unknown>): Promise<unknown> {
  const result = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in result) throw new Error(`Expected a rejection, got ${JSON.stringify(result.value)}`);
  return result.error;
}
