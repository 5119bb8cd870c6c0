import type { Fault } from './faults.ts';
import { JSON_TYPE, type SuccessBody } from './responses.ts';

export interface FaultContext {
  act(): SuccessBody;
  approveAfter(reference: string, delay: number): void;
  getDisconnectSignal(): AbortSignal;
}

/**
 * Responds to a request with a fault, or as documented if there is none. A connection breaks with an error response: fetch and
 * MSW fail the request with it, and the sandbox resets the socket.
 */
export async function respondWithFault(fault: Fault | undefined, context: FaultContext): Promise<Response> {
  switch (fault?.kind) {
    case undefined:
      return Response.json(context.act());
    case 'status':
      if (fault.accepted) context.act();
      return createStatusResponse(fault);
    case 'rateLimited': {
      const seconds = Math.ceil((fault.retryAfter ?? 1000) / 1000);
      return createStatusResponse({
        kind: 'status',
        status: 429,
        headers: { 'retry-after': String(seconds) },
      });
    }
    case 'reset':
      return Response.error();
    case 'responseLost':
      context.act();
      return Response.error();
    case 'hang':
      if (fault.accepted) context.act();
      await waitForAbort(context.getDisconnectSignal());
      return Response.error();
    case 'slowBody':
      return createSlowResponse(context.act(), fault.interval ?? 100, context.getDisconnectSignal());
    case 'truncated': {
      const text = JSON.stringify(context.act());
      return new Response(text.slice(0, text.length / 2), { headers: JSON_TYPE });
    }
    case 'wrongAmount':
      return replaceData(context.act(), { amount: fault.amount });
    case 'wrongCurrency':
      return replaceData(context.act(), { currency: fault.currency });
    case 'wrongReference': {
      const body = context.act();
      const { reference, checkout_url } = body.data;
      // The page is that of the other transaction: only `verify` can tell.
      const page = checkout_url ? { checkout_url: checkout_url.replace(reference, fault.reference) } : {};
      return replaceData(body, { reference: fault.reference, ...page });
    }
    case 'unrecognisedStatus':
      return replaceData(context.act(), { status: fault.status ?? 'reversed' });
    case 'lateApproval': {
      const body = context.act();
      context.approveAfter(body.data.reference, fault.after);
      return Response.json(body);
    }
  }
}

function createStatusResponse({
  status,
  body = 'json',
  headers,
}: Extract<Fault, { kind: 'status' }>): Response {
  const init = { status, headers: { ...headers } };
  // The Response constructor refuses a body for these.
  if (body === 'empty' || [204, 205, 304].includes(status)) return new Response(null, init);
  if (body === 'html') {
    const page = `<!doctype html><html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`;
    return new Response(page, { status, headers: { 'content-type': 'text/html', ...headers } });
  }
  return Response.json(body === 'json' ? { status: false, message: `A fault: ${status}.` } : body, init);
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function createSlowResponse(body: SuccessBody, interval: number, disconnected: AbortSignal): Response {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  let sent = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = () => clearInterval(timer);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        controller.enqueue(bytes.slice(sent, sent + 1));
        sent += 1;
        if (sent < bytes.length) return;
        stop();
        controller.close();
      }, interval);
      // MSW does not always cancel the body when the client has disconnected. An HTTP server cancels it in the same turn, and
      // the error then reaches no reader.
      disconnected.addEventListener('abort', () => {
        stop();
        queueMicrotask(() => controller.error(disconnected.reason));
      });
    },
    cancel: stop,
  });
  // Without a length, undici takes an aborted connection for the end of the body, and throws outside of any promise.
  return new Response(stream, { headers: { ...JSON_TYPE, 'content-length': String(bytes.length) } });
}

function replaceData(body: SuccessBody, data: Readonly<Record<string, string>>): Response {
  return Response.json({ ...body, data: { ...body.data, ...data } });
}
