import { PaymentsClient, type PaymentsClientOptions } from '../../src/index.ts';
import { API_KEY, successBodies } from './service.ts';

/** How the service responds to one verify: with a status, with a whole response, or with a connection error. */
export type ScriptedResponse = string | Response | Error;

export interface ScriptedService {
  client: PaymentsClient;
  /** The requests, with their time in milliseconds since the service was created. */
  seen: { at: number; reference: string; signal: AbortSignal; headers: Headers }[];
}

/**
 * Creates a service that is a `fetch`, without a socket, for tests with a fake clock. It responds at once, or after
 * `latency` milliseconds of that clock.
 */
export function createScriptedService(
  respond: (reference: string, count: number) => ScriptedResponse | Promise<ScriptedResponse>,
  options: PaymentsClientOptions & { latency?: number } = {},
): ScriptedService {
  const { latency = 0, ...rest } = options;
  const seen: ScriptedService['seen'] = [];
  const startedAt = performance.now();
  const counts = new Map<string, number>();

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { url, headers } = new Request(input, init);
    const signal = init?.signal;
    if (!signal) throw new TypeError('Expected a signal.');
    const reference = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    const count = (counts.get(reference) ?? 0) + 1;
    counts.set(reference, count);
    seen.push({ at: performance.now() - startedAt, reference, signal, headers });
    if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
    const response = await respond(reference, count);
    if (response instanceof Error) throw response;
    if (response instanceof Response) return response;
    return Response.json(
      successBodies.verify({
        reference,
        status: response,
        paid_at: response === 'success' ? '2026-11-21T10:15:00+00:00' : null,
      }),
    );
  };
  const client = new PaymentsClient({
    apiKey: API_KEY,
    baseUrl: 'https://payments.example/api/v1',
    fetch,
    ...rest,
  });
  return { client, seen };
}

/** Responds with each item of a list in turn, and then always with the last one. */
export function respondInTurn(
  ...list: ScriptedResponse[]
): (reference: string, count: number) => ScriptedResponse {
  return (_, count) => {
    const response = list[Math.min(count, list.length) - 1] ?? 'pending';
    return response instanceof Response ? response.clone() : response;
  };
}

/** Creates the error of a reset connection, as undici throws it. */
export function createResetError(): Error {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
  });
}
