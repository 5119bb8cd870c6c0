import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';

/** Of many requests, one kind each time. */
export interface Load {
  perSecond: number;
  /** Microseconds of CPU of the sandbox's process for each request. */
  cpu: number;
  /** Milliseconds until an answer is whole. */
  p50: number;
  p99: number;
}

interface Reading {
  cpu: number;
  /** Bytes. */
  memory: number;
}

export interface Sandbox {
  verify(reference: string): Promise<string>;
  /** The reference of the new transaction. */
  initialize(): Promise<string>;
  /** Calls so many times, over {@link CONNECTIONS} connections at once. */
  load(count: number, call: () => Promise<unknown>): Promise<Load>;
  reading(): Promise<Reading>;
  stop(): void;
}

export const CONNECTIONS = 16;

export async function startSandbox(state?: string): Promise<Sandbox> {
  const child = fork(new URL('child.ts', import.meta.url), state === undefined ? [] : [state], {
    execArgv: [],
  });
  const [{ baseUrl, liveKey }] = await once(child, 'message');
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const headers = { authorization: `Bearer ${liveKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ amount: 25.5, customer_email: 'ama@example.com' });

  const call = (method: string, path: string) =>
    new Promise<string>((resolve, reject) => {
      const sent = request(`${baseUrl}${path}`, { method, headers, agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(text))));
      });
      sent.on('error', reject);
      sent.end(method === 'POST' ? body : undefined);
    });
  const reading = async (): Promise<Reading> => {
    child.send('reading?');
    const [answer] = await once(child, 'message');
    return answer;
  };

  return {
    verify: (reference) => call('GET', `/transactions/verify/${reference}`),
    initialize: async () => JSON.parse(await call('POST', '/transactions/initialize')).data.reference,
    load: async (count, one) => {
      const times = new Float64Array(count);
      let next = 0;
      const worker = async () => {
        for (let index = next++; index < count; index = next++) {
          const began = performance.now();
          await one();
          times[index] = performance.now() - began;
        }
      };
      const [before, began] = [await reading(), performance.now()];
      await Promise.all(Array.from({ length: CONNECTIONS }, worker));
      const [elapsed, after] = [performance.now() - began, await reading()];
      times.sort();
      const quantile = (part: number) => times[Math.floor(part * count)] ?? Number.NaN;
      return {
        perSecond: (count * 1_000) / elapsed,
        cpu: (after.cpu - before.cpu) / count,
        p50: quantile(0.5),
        p99: quantile(0.99),
      };
    },
    reading,
    stop: () => child.disconnect(),
  };
}
