import type { Fault, StatusFault } from './faults.ts';
import type { SuccessBody } from './responses.ts';

/** The request that a fault befalls. */
export interface FaultContext {
  /** Does what the request asks, and gives the answer that SPEC.md shows. */
  act(): SuccessBody;
  /** Lets the customer approve later, in milliseconds. */
  approveAfter(reference: string, delay: number): void;
  /** Aborted when nobody waits for the answer any longer. */
  clientGone(): AbortSignal;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** A broken connection: fetch, and MSW with it, knows it as the error response. */
const brokenConnection = () => Response.error();

/** What comes of a request under a fault, or of none. */
export async function respondWithFault(fault: Fault | undefined, befallen: FaultContext): Promise<Response> {
  switch (fault?.kind) {
    case undefined:
      return Response.json(befallen.act());
    case 'status':
      if (fault.accepted) befallen.act();
      return statusAnswer(fault);
    case 'rateLimited': {
      const seconds = Math.ceil((fault.retryAfter ?? 1000) / 1000);
      return statusAnswer({ kind: 'status', status: 429, headers: { 'retry-after': String(seconds) } });
    }
    case 'reset':
      return brokenConnection();
    case 'responseLost':
      befallen.act();
      return brokenConnection();
    case 'hang':
      if (fault.accepted) befallen.act();
      await aborted(befallen.clientGone());
      return brokenConnection();
    case 'slowBody': {
      const whole = new TextEncoder().encode(JSON.stringify(befallen.act()));
      return trickle(whole, fault.interval ?? 100, befallen.clientGone());
    }
    case 'truncated': {
      const whole = JSON.stringify(befallen.act());
      return new Response(whole.slice(0, whole.length / 2), { headers: JSON_TYPE });
    }
    case 'wrongAmount':
      return withData(befallen.act(), { amount: fault.amount });
    case 'wrongCurrency':
      return withData(befallen.act(), { currency: fault.currency });
    case 'wrongReference':
      return withData(befallen.act(), { reference: fault.reference });
    case 'unrecognisedStatus':
      return withData(befallen.act(), { status: fault.status ?? 'reversed' });
    case 'lateApproval': {
      const answer = befallen.act();
      befallen.approveAfter(answer.data.reference, fault.after);
      return Response.json(answer);
    }
    // It was given another kind after it was checked.
    default:
      throw new TypeError('There is no such fault.');
  }
}

function withData(answer: SuccessBody, data: Readonly<Record<string, string>>): Response {
  return Response.json({ ...answer, data: { ...answer.data, ...data } });
}

function statusAnswer({ status, body = 'json', headers }: StatusFault): Response {
  const init = { status, headers: { ...headers } };
  // The Response constructor allows these no body.
  if (body === 'empty' || [204, 205, 304].includes(status)) return new Response(null, init);
  if (body === 'html') {
    const page = `<!doctype html><html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`;
    return new Response(page, { status, headers: { 'content-type': 'text/html', ...headers } });
  }
  return Response.json(body === 'json' ? { status: false, message: `A fault: ${status}.` } : body, init);
}

function trickle(bytes: Uint8Array, interval: number, clientGone: AbortSignal): Response {
  let sent = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = () => clearInterval(timer);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        controller.enqueue(bytes.slice(sent, sent + 1));
        sent += 1;
        if (sent < bytes.length) return;
        stop();
        controller.close();
      }, interval);
      // MSW does not always cancel the body of an answer that nobody reads any more. An HTTP server does, in the same
      // turn: it then finds no error to report.
      clientGone.addEventListener('abort', () => {
        stop();
        queueMicrotask(() => controller.error(clientGone.reason));
      });
    },
    cancel: stop,
  });
  // Without a length, the close of a connection that was given up looks like the end of the body: undici then throws
  // in the middle of nowhere.
  const headers = { ...JSON_TYPE, 'content-length': String(bytes.length) };
  return new Response(body, { headers });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
