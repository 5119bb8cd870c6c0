import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentsClient } from '../../src/index.ts';
import { TIMEOUT } from './contenders.ts';
import { cpuDuring, heapInUse, loopDelay, referencesFor } from './measure.ts';

/** Of waits of the whole client, with a service over HTTP. */
export interface OverHttp {
  pollsPerSecond: number;
  /** Microseconds of CPU of the client's process for each poll, HTTP and all. */
  cpu: number;
  loopP99: number;
  /** Heap for each wait once it has been answered, in bytes. */
  bytes: number;
  /** Milliseconds from `close()` until every promise has settled. */
  close: number;
}

/** Enough for each wait to be asked about once before the window begins. */
const RATE = 1_000;
const WINDOW = 6_000;

export async function measureOverHttp(count: number): Promise<OverHttp> {
  const service = fork(new URL('http-service.ts', import.meta.url), { execArgv: [] });
  const [{ port }] = await once(service, 'message');
  let polls = 0;
  const payments = new PaymentsClient({
    apiKey: 'sk_test_bench',
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    polling: { timeout: TIMEOUT, maxRequestsPerSecond: RATE },
    onEvent: ({ type }) => {
      if (type === 'poll') polls++;
    },
  });
  const references = referencesFor(count);
  const heapBefore = await heapInUse();
  const waits = references.map((reference) => payments.waitForFinalStatus(reference));
  await sleep((count / RATE) * 1_000 + 5_000);

  const loop = loopDelay();
  const polled = polls;
  const { cpu, elapsed } = await cpuDuring(WINDOW);
  const asked = polls - polled;
  const { p99 } = loop();
  const bytes = ((await heapInUse()) - heapBefore) / count;

  const settled = Promise.allSettled(waits);
  const closedAt = performance.now();
  payments.close();
  await settled;
  const close = performance.now() - closedAt;
  service.kill();
  return { pollsPerSecond: (asked * 1_000) / elapsed, cpu: cpu / asked, loopP99: p99, bytes, close };
}
