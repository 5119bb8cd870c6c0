import { PaymentsClient, type PaymentsClientOptions } from '../../src/index.ts';
import { API_KEY, answers } from './service.ts';

/** What the service says to one verify: a status, an answer of its own, or a fault of the connection. */
export type Said = string | Response | Error;

export interface ScriptedService {
  client: PaymentsClient;
  /** When each request came, in milliseconds since the service was made, and about what. */
  seen: { at: number; reference: string; signal: AbortSignal; headers: Headers }[];
}

/**
 * A service behind `fetch` rather than a socket, for tests whose clock is a fake one: it answers at once, or after
 * `latency` milliseconds of that clock.
 */
export function scriptedService(
  say: (reference: string, count: number) => Said | Promise<Said>,
  options: PaymentsClientOptions & { latency?: number } = {},
): ScriptedService {
  const { latency = 0, ...rest } = options;
  const seen: ScriptedService['seen'] = [];
  const began = performance.now();
  const counts = new Map<string, number>();

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { url, headers } = new Request(input, init);
    const signal = init?.signal;
    if (!signal) throw new TypeError('expected a signal');
    const reference = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    const count = (counts.get(reference) ?? 0) + 1;
    counts.set(reference, count);
    seen.push({ at: performance.now() - began, reference, signal, headers });
    if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
    const said = await say(reference, count);
    if (said instanceof Error) throw said;
    if (said instanceof Response) return said;
    return Response.json(
      answers.verify({
        reference,
        status: said,
        paid_at: said === 'success' ? '2026-11-21T10:15:00+00:00' : null,
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

/** A `say` that goes through a list and stays at its last. */
export function inTurn(...list: Said[]): (reference: string, count: number) => Said {
  return (_, count) => {
    const said = list[Math.min(count, list.length) - 1] ?? 'pending';
    return said instanceof Response ? said.clone() : said;
  };
}

/** A fault of the connection, as undici has it. */
export function brokenConnection(): Error {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
  });
}
