import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentsClient } from '../../src/index.ts';
import { TIMEOUT } from './contenders.ts';
import { createReferences, getHeapUsed, measureCpu, measureLoopDelay } from './measure.ts';

/** Of waits of the whole client, with a service over HTTP. */
export interface OverHttp {
  pollsPerSecond: number;
  /** Microseconds of CPU of the client's process for each poll, HTTP and all. */
  cpu: number;
  loopP99: number;
  /** Heap for each wait and the caller's `.then` on it after at least one poll, in bytes. */
  bytes: number;
  /** Milliseconds from `close()` until every wait has ended. */
  close: number;
}

/** Polls per second: each wait has had one poll before the window starts. */
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
  const references = createReferences(count);
  const heapBefore = await getHeapUsed();
  const waits = references.map((reference) =>
    payments.waitForFinalStatus(reference).then(
      () => {},
      () => {},
    ),
  );
  await sleep((count / RATE) * 1_000 + 5_000);

  const readLoopDelay = measureLoopDelay();
  const pollsBefore = polls;
  const { cpu, elapsed } = await measureCpu(WINDOW);
  const counted = polls - pollsBefore;
  const { p99 } = readLoopDelay();
  const bytes = ((await getHeapUsed()) - heapBefore) / count;

  const closedAt = performance.now();
  payments.close();
  await Promise.all(waits);
  const close = performance.now() - closedAt;
  service.kill();
  return { pollsPerSecond: (counted * 1_000) / elapsed, cpu: cpu / counted, loopP99: p99, bytes, close };
}
