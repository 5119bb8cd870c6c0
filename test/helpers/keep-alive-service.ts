import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { successBodies } from './service.ts';

/** A node:http server that closes an idle connection after `keepAlive` ms. `hint` announces the time in its Keep-Alive header. */
export interface KeepAlive {
  keepAlive: number;
  hint: boolean;
}

/** A charge: its order, and whether its connection had an earlier request. */
export interface RecordedCharge {
  order: string;
  onOpenConnection: boolean;
}

export interface WorkerData {
  services: KeepAlive[];
  verified: ReturnType<typeof successBodies.verify>;
  taken: ReturnType<typeof successBodies.chargeMobileMoney>;
  goAhead: Int32Array<SharedArrayBuffer>;
  closed: Int32Array<SharedArrayBuffer>;
}

export interface KeepAliveServices {
  baseUrls: string[];
  /** Returns every charge of these services. */
  charged(): Promise<RecordedCharge[]>;
  /**
   * Keeps this thread busy until the service has closed the connection over which `TXN-close-FIN` or `TXN-close-RST`
   * was verified last.
   */
  beBusyWhileItCloses(): void;
  stop(): Promise<unknown>;
}

/** Starts the services in their own thread, so that client and service really race, and one thread can be busy alone. */
export async function startKeepAliveServices(services: KeepAlive[]): Promise<KeepAliveServices> {
  const goAhead = new Int32Array(new SharedArrayBuffer(4));
  const closed = new Int32Array(new SharedArrayBuffer(4));
  const workerData: WorkerData = {
    services,
    verified: successBodies.verify(),
    taken: successBodies.chargeMobileMoney(),
    goAhead,
    closed,
  };
  const worker = new Worker(new URL('./keep-alive-service-worker.ts', import.meta.url), { workerData });
  const [ports]: number[][] = await once(worker, 'message');
  return {
    baseUrls: (ports ?? []).map((port) => `http://127.0.0.1:${port}/api/v1`),
    async charged() {
      worker.postMessage('charged?');
      const [charged]: RecordedCharge[][] = await once(worker, 'message');
      return charged ?? [];
    },
    beBusyWhileItCloses() {
      Atomics.store(closed, 0, 0);
      Atomics.store(goAhead, 0, 1);
      Atomics.notify(goAhead, 0);
      Atomics.wait(closed, 0, 0, 10_000);
    },
    stop: () => worker.terminate(),
  };
}
