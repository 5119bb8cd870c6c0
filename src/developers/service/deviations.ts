import { isRecord, parseJson } from '../../support/untrusted.ts';

interface ReceivedRequest {
  readonly method: string;
  url: string;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** A response in JSON, which a deviation can change before it leaves. */
interface Returned {
  status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  readonly data: Record<string, unknown>;
}

interface Keys {
  readonly testKey: string;
  readonly liveKey: string;
}

/** What one request leaves to the next. */
type Memory = Map<string, unknown>;

/** Changes a request, or responds in place of the service. */
type OnRequest = (sent: ReceivedRequest, memory: Memory, keys: Keys) => unknown;
type OnResponse = (returned: Returned, sent: ReceivedRequest, memory: Memory) => unknown;

/** How a service breaks one assumption of docs/reference/service.md. */
interface Deviation {
  readonly label: string;
  readonly onRequest?: OnRequest;
  readonly onResponse?: OnResponse;
}

const onRequest = (label: string, change: OnRequest): Deviation => ({ label, onRequest: change });
const onResponse = (label: string, change: OnResponse): Deviation => ({ label, onResponse: change });

/** Changes each transaction that is read. `finals` counts the reads, with this one, that found it final. */
const onRead = (label: string, change: (data: Returned['data'], finals: number) => unknown) =>
  onResponse(label, ({ status, data }, { method, url }, memory) => {
    if (method !== 'GET' || status !== 200) return;
    const finals = Number(memory.get(url) ?? 0) + (data.status === 'pending' ? 0 : 1);
    memory.set(url, finals);
    change(data, finals);
  });

const onStart = (label: string, change: (returned: Returned) => unknown) =>
  onResponse(label, (returned, { url }) => {
    if (url.endsWith('/initialize') && returned.status === 200) change(returned);
  });

const onAmount = (label: string, change: (amount: number) => number) =>
  onRequest(label, ({ body }) => {
    if (typeof body.amount === 'number') body.amount = change(body.amount);
  });

/** Makes one transaction of the requests that have the same `name`. */
const onEqual = (label: string, name: (sent: ReceivedRequest) => string | null): Deviation => ({
  label,
  onRequest: (sent, memory) => {
    const earlier = memory.get(`${name(sent)}`);
    return earlier === undefined ? undefined : Response.json(earlier);
  },
  onResponse: ({ status, body }, sent, memory) => {
    const key = name(sent);
    if (key !== null && status === 200) memory.set(key, body);
  },
});

const respondWithError = (status: number, message: string) =>
  Response.json({ status: false, message }, { status });

const FIELDS = ['amount', 'currency', 'customer_email', 'phone', 'network'];

/** Each way to break an assumption, by its name in the probe. */
export const deviations: Readonly<Record<string, Deviation>> = {
  address: onRequest('redirects each POST', ({ method, url }) =>
    method === 'POST' ? new Response(null, { status: 307, headers: { location: url } }) : undefined,
  ),
  clock: onResponse('has a clock that is an hour ahead', ({ headers }) =>
    headers.set('date', new Date(Date.now() + 3_600_000).toUTCString()),
  ),
  'idle-connections': onResponse('closes idle connections after 1 s, and does not say so', ({ headers }) =>
    headers.set('connection', 'keep-alive'),
  ),
  'wrong-key': onRequest('accepts any API key, and none', ({ headers }, _, { testKey }) =>
    headers.set('authorization', `Bearer ${testKey}`),
  ),
  'unknown-headers': onRequest('refuses the header X-Request-Id', ({ headers }) =>
    headers.has('x-request-id') ? respondWithError(400, 'Unknown header.') : undefined,
  ),
  'status-false': onStart('responds with status false to a payment that was started', ({ body }) => {
    body.status = false;
  }),
  'success-2xx': onStart('responds with status "success" in place of true', ({ body }) => {
    body.status = 'success';
  }),
  'page-form': onStart('has the reference in the query of checkout_url', ({ data }) => {
    data.checkout_url = String(data.checkout_url).replace(/\/(TXN-\w+)$/, '?reference=$1');
  }),
  'reference-form': {
    label: 'has a slash in each reference',
    onRequest: (sent) => {
      sent.url = sent.url.replace('TXN-%2F', 'TXN-');
    },
    onResponse: ({ data }) => {
      for (const name of ['reference', 'checkout_url'])
        if (name in data) data[name] = String(data[name]).replace('TXN-', 'TXN-/');
    },
  },
  'unknown-fields': onRequest('refuses a field that it does not know', ({ body }) =>
    Object.keys(body).every((name) => FIELDS.includes(name))
      ? undefined
      : respondWithError(422, 'Unknown field.'),
  ),
  'test-charge': onRequest('charges with the test key', ({ url, headers }, _, { liveKey }) => {
    if (url.endsWith('/charge-mobile-money')) headers.set('authorization', `Bearer ${liveKey}`);
  }),
  'read-only': onResponse('counts the reads of a transaction', ({ data }, { url }, memory) => {
    data.reads = Number(memory.get(url) ?? 0) + 1;
    memory.set(url, data.reads);
  }),
  'none-is-null': onRead('has a paid_at in an unpaid transaction', (data) => {
    data.paid_at ??= '2026-01-01T00:00:00+00:00';
  }),
  'unknown-reference': onResponse('responds with 400 to an unknown reference', (returned, { method }) => {
    if (method === 'GET' && returned.status === 404) returned.status = 400;
  }),
  'replica-lag': onResponse('finds no transaction when it is read', (returned, { method }) => {
    if (method === 'GET' && returned.status === 200) returned.status = 404;
  }),
  'success-stays': onRead('takes a success back after it was read', (data, finals) => {
    if (data.status === 'success' && finals > 1) data.status = 'failed';
  }),
  'failed-stays': onRead('lets a payment succeed that was read as failed or abandoned', (data, finals) => {
    if (data.status !== 'pending' && finals > 1) data.status = 'success';
  }),
  'new-is-open': onRead('reports a new payment as abandoned', (data) => {
    if (data.status === 'pending') data.status = 'abandoned';
  }),
  'outcome-shown': onRead('reports every payment as pending', (data) => {
    Object.assign(data, { status: 'pending', paid_at: null });
  }),
  'two-decimals': onAmount('rounds an amount of three decimals', (amount) => Math.round(amount * 100) / 100),
  'money-echoed': onRead('adds a fee to the amount', (data) => {
    data.amount = (Number(data.amount) + 0.02).toFixed(2);
  }),
  refusal: onResponse('names a transaction in a refusal', ({ status, body }) => {
    if (status === 422) body.data = { reference: 'TXN-REFUSED' };
  }),
  'rules-refused': onAmount('accepts an amount below 1', (amount) => Math.max(1, amount)),
  'equal-requests': onEqual('makes one transaction of equal requests', ({ method, body }) =>
    method === 'POST' ? JSON.stringify(body) : null,
  ),
  'idempotency-key': onEqual('heeds the header Idempotency-Key', ({ headers }) =>
    headers.get('idempotency-key'),
  ),
  // The webhooks themselves do it.
  'webhook-reference': { label: 'sends webhooks without a reference' },
};

/** Returns a service that breaks one assumption, if `id` is one of {@link deviations}. */
export function deviate(
  handle: (request: Request) => Promise<Response>,
  id: string,
  keys: Keys,
): (request: Request) => Promise<Response> {
  const { onRequest, onResponse } = deviations[id] ?? {};
  const memory: Memory = new Map();
  return async (request) => {
    const sent = await readRequest(request);
    const early = onRequest?.(sent, memory, keys);
    if (early instanceof Response) return early;
    const { method, url, headers, text, body } = sent;
    const changed = text === '' ? null : Object.keys(body).length > 0 ? JSON.stringify(body) : text;
    const response = await handle(new Request(url, { method, headers, body: changed }));
    const json = parseJson(await response.clone().text());
    if (!isRecord(json)) return response;
    const data = isRecord(json.data) ? { ...json.data } : {};
    const returned = {
      status: response.status,
      headers: new Headers(response.headers),
      body: { ...json, ...('data' in json ? { data } : {}) },
      data,
    };
    onResponse?.(returned, sent, memory);
    // Of the body that it had.
    returned.headers.delete('content-length');
    return Response.json(returned.body, returned);
  };
}

async function readRequest(request: Request): Promise<ReceivedRequest> {
  const { method, url } = request;
  const text = method === 'GET' || method === 'HEAD' ? '' : await request.text();
  const parsed = parseJson(text);
  return {
    method,
    url,
    headers: new Headers(request.headers),
    text,
    body: isRecord(parsed) ? { ...parsed } : {},
  };
}
