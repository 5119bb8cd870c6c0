import { isRecord, parseJson } from '../untrusted.ts';

/** A request, which a deviation can change before the service has it. */
interface Sent {
  readonly method: string;
  url: string;
  readonly headers: Headers;
  readonly text: string;
  /** Its fields. */
  readonly body: Record<string, unknown>;
}

/** A response in JSON, which a deviation can change before it leaves. */
interface Returned {
  status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
  /** The fields of the transaction. */
  readonly data: Record<string, unknown>;
}

/** How a service breaks one assumption of docs/reference/service.md. */
interface Deviation {
  readonly label: string;
  /** Changes a request, or responds in place of the service. `memory` keeps what one request leaves to the next. */
  readonly onRequest?: (sent: Sent, memory: Map<string, unknown>, keys: Keys) => unknown;
  readonly onResponse?: (returned: Returned, sent: Sent, memory: Map<string, unknown>) => unknown;
}

interface Keys {
  readonly testKey: string;
  readonly liveKey: string;
}

const refuse = (status: number, message: string) => Response.json({ status: false, message }, { status });

/** Changes each transaction that is read. `finals` counts the reads, with this one, that found it final. */
function onRead(label: string, change: (data: Record<string, unknown>, finals: number) => void): Deviation {
  return {
    label,
    onResponse: ({ status, data }, { method, url }, memory) => {
      if (method !== 'GET' || status !== 200) return;
      const finals = Number(memory.get(url) ?? 0) + (data.status === 'pending' ? 0 : 1);
      memory.set(url, finals);
      change(data, finals);
    },
  };
}

/** Changes the response to each payment that was started. */
function onStart(label: string, change: (returned: Returned) => void): Deviation {
  return {
    label,
    onResponse: (returned, { url }) => {
      if (url.endsWith('/initialize') && returned.status === 200) change(returned);
    },
  };
}

/** Makes one transaction of the requests that have the same `name`. */
function onEqual(label: string, name: (sent: Sent) => string | null): Deviation {
  return {
    label,
    onRequest: (sent, memory) => {
      const key = name(sent);
      const earlier = key === null ? undefined : memory.get(key);
      return earlier === undefined ? undefined : Response.json(earlier);
    },
    onResponse: ({ status, body }, sent, memory) => {
      const key = name(sent);
      if (key !== null && status === 200) memory.set(key, body);
    },
  };
}

/** Each way to break an assumption, by its name in the probe. */
export const deviations = {
  address: {
    label: 'redirects each POST',
    onRequest: ({ method, url }) =>
      method === 'POST' ? new Response(null, { status: 307, headers: { location: url } }) : undefined,
  },
  clock: {
    label: 'has a clock that is an hour ahead',
    onResponse: ({ headers }) => headers.set('date', new Date(Date.now() + 3_600_000).toUTCString()),
  },
  'idle-connections': {
    label: 'closes idle connections after 1 s, and does not say so',
    onResponse: ({ headers }) => headers.set('connection', 'keep-alive'),
  },
  'wrong-key': {
    label: 'accepts any API key, and none',
    onRequest: ({ headers }, _, { testKey }) => headers.set('authorization', `Bearer ${testKey}`),
  },
  'unknown-headers': {
    label: 'refuses the header X-Request-Id',
    onRequest: ({ headers }) => (headers.has('x-request-id') ? refuse(400, 'Unknown header.') : undefined),
  },
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
  'unknown-fields': {
    label: 'refuses a field that it does not know',
    onRequest: ({ body }) => {
      const known = ['amount', 'currency', 'customer_email', 'phone', 'network'];
      return Object.keys(body).every((name) => known.includes(name))
        ? undefined
        : refuse(422, 'Unknown field.');
    },
  },
  'test-charge': {
    label: 'charges with the test key',
    onRequest: ({ url, headers }, _, { liveKey }) => {
      if (url.endsWith('/charge-mobile-money')) headers.set('authorization', `Bearer ${liveKey}`);
    },
  },
  'read-only': {
    label: 'counts the reads of a transaction',
    onResponse: ({ data }, { url }, memory) => {
      const reads = Number(memory.get(url) ?? 0) + 1;
      memory.set(url, reads);
      data.reads = reads;
    },
  },
  'none-is-null': onRead('has a paid_at in an unpaid transaction', (data) => {
    data.paid_at ??= '2026-01-01T00:00:00+00:00';
  }),
  'unknown-reference': {
    label: 'responds with 400 to an unknown reference',
    onResponse: (returned, { method }) => {
      if (method === 'GET' && returned.status === 404) returned.status = 400;
    },
  },
  'replica-lag': {
    label: 'finds no transaction when it is read',
    onResponse: (returned, { method }) => {
      if (method === 'GET' && returned.status === 200) returned.status = 404;
    },
  },
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
    data.status = 'pending';
    data.paid_at = null;
  }),
  'two-decimals': {
    label: 'rounds an amount of three decimals',
    onRequest: ({ body }) => {
      if (typeof body.amount === 'number') body.amount = Math.round(body.amount * 100) / 100;
    },
  },
  'money-echoed': onRead('adds a fee to the amount', (data) => {
    data.amount = (Number(data.amount) + 0.02).toFixed(2);
  }),
  refusal: {
    label: 'names a transaction in a refusal',
    onResponse: ({ status, body }) => {
      if (status === 422) body.data = { reference: 'TXN-REFUSED' };
    },
  },
  'rules-refused': {
    label: 'accepts an amount below 1',
    onRequest: ({ body }) => {
      if (typeof body.amount === 'number') body.amount = Math.max(1, body.amount);
    },
  },
  'equal-requests': onEqual('makes one transaction of equal requests', ({ method, body }) =>
    method === 'POST' ? JSON.stringify(body) : null,
  ),
  'idempotency-key': onEqual('heeds the header Idempotency-Key', ({ headers }) =>
    headers.get('idempotency-key'),
  ),
  'webhook-reference': { label: 'sends webhooks without a reference' },
} as const satisfies Readonly<Record<string, Deviation>>;

/** The name of an assumption that the sandbox can break. */
export type DeviationId = keyof typeof deviations;

export const isDeviationId = (value: unknown): value is DeviationId =>
  typeof value === 'string' && Object.hasOwn(deviations, value);

/** Returns a service that breaks one assumption. */
export function deviate(
  handle: (request: Request) => Promise<Response>,
  id: DeviationId,
  keys: Keys,
): (request: Request) => Promise<Response> {
  const { onRequest, onResponse }: Deviation = deviations[id];
  const memory = new Map<string, unknown>();
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

async function readRequest(request: Request): Promise<Sent> {
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
