import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';

/** What many requests of one kind cost. */
export interface Load {
  perSecond: number;
  /** Microseconds of CPU time of the sandbox's process for each request. */
  cpu: number;
  /** Milliseconds until a response is complete. */
  p50: number;
  p99: number;
}

interface Usage {
  /** Microseconds of CPU time since the start. */
  cpu: number;
  /** Bytes. */
  memory: number;
}

export interface Sandbox {
  verify(reference: string): Promise<string>;
  /** Returns the reference of the new transaction. */
  initialize(): Promise<string>;
  /** Makes `count` calls over {@link CONNECTIONS} connections at once. */
  measureLoad(count: number, call: () => Promise<unknown>): Promise<Load>;
  readUsage(): Promise<Usage>;
  stop(): void;
}

export const CONNECTIONS = 16;

export async function startSandbox(state?: string): Promise<Sandbox> {
  const child = fork(new URL('sandbox-process.ts', import.meta.url), state === undefined ? [] : [state], {
    execArgv: [],
  });
  const [{ baseUrl, liveKey }] = await once(child, 'message');
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const headers = { authorization: `Bearer ${liveKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ amount: 25.5, customer_email: 'ama@example.com' });

  const send = (method: string, path: string) =>
    new Promise<string>((resolve, reject) => {
      const outgoing = request(`${baseUrl}${path}`, { method, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))));
      });
      outgoing.on('error', reject);
      outgoing.end(method === 'POST' ? body : undefined);
    });
  const readUsage = async (): Promise<Usage> => {
    child.send('usage');
    const [usage] = await once(child, 'message');
    return usage;
  };

  return {
    verify: (reference) => send('GET', `/transactions/verify/${reference}`),
    initialize: async () => JSON.parse(await send('POST', '/transactions/initialize')).data.reference,
    measureLoad: async (count, call) => {
      const times = new Float64Array(count);
      let next = 0;
      const worker = async () => {
        for (let index = next++; index < count; index = next++) {
          const startedAt = performance.now();
          await call();
          times[index] = performance.now() - startedAt;
        }
      };
      const [before, startedAt] = [await readUsage(), performance.now()];
      await Promise.all(Array.from({ length: CONNECTIONS }, worker));
      const [elapsed, after] = [performance.now() - startedAt, await readUsage()];
      times.sort();
      const quantile = (fraction: number) => times[Math.floor(fraction * count)] ?? Number.NaN;
      return {
        perSecond: (count * 1_000) / elapsed,
        cpu: (after.cpu - before.cpu) / count,
        p50: quantile(0.5),
        p99: quantile(0.99),
      };
    },
    readUsage,
    stop: () => child.disconnect(),
  };
}
