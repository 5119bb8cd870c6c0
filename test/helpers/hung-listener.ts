import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** A service whose process hangs: the kernel accepts connections for it, and the process never handles them. */
export interface HungListener {
  baseUrl: string;
  /** Fills the backlog, so that the kernel accepts no more connections. (Some systems always accept another one.) */
  fill(): Promise<void>;
  /** Ends the process. The kernel resets the connections. */
  kill(): Promise<void>;
}

const hang = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  createServer().listen({ port: 0, host: '127.0.0.1', backlog: workerData }, function () {
    parentPort.postMessage(this.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

export async function startHungListener(backlog: number): Promise<HungListener> {
  const worker = new Worker(hang, { eval: true, workerData: backlog });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  const waiting: Socket[] = [];
  const isTaken = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    waiting.push(socket);
    const taken = new Promise<boolean>((resolve) => socket.once('connect', () => resolve(true)));
    return Promise.race([taken, sleep(200, false)]);
  };
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    async fill() {
      for (let count = 0; count < 2 * backlog + 2; count++) if (!(await isTaken())) return;
    },
    async kill() {
      await worker.terminate();
      for (const socket of waiting) socket.destroy();
    },
  };
}
