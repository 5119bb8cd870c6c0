import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { findFreePort } from '../../helpers/databases.ts';
import type { RunningEngine, WorkflowExample } from './example.ts';
import { until } from './shop.ts';

const cwd = resolve('examples/workflows/restate');

/** The server from npm, with the example's configuration, on free ports and in its own folder. */
export class RestateServer implements RunningEngine {
  readonly env: Readonly<Record<string, string>>;
  readonly #admin: string;
  readonly #workerPort: number;
  readonly #start: () => ChildProcess;
  readonly #output: string[] = [];
  #process: ChildProcess;

  private constructor(folder: string, ports: readonly number[], settings: Readonly<Record<string, string>>) {
    const [ingress = 0, admin = 0, fabric = 0, worker = 0] = ports;
    this.#admin = `http://127.0.0.1:${admin}`;
    this.#workerPort = worker;
    this.env = { RESTATE_INGRESS: `http://127.0.0.1:${ingress}`, PORT: String(worker) };
    const env = {
      ...process.env,
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_ADMIN__BIND_PORT: String(admin),
      RESTATE_BIND_PORT: String(fabric),
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MB',
      DO_NOT_TRACK: '1',
      ...settings,
    };
    const options = ['--config-file', 'restate.toml', '--no-logo', '--base-dir', join(folder, 'restate')];
    // The binary itself: SIGKILL to npm's launcher would not reach it.
    this.#start = () => {
      const server = spawn(findBinary(), options, { cwd, env });
      for (const stream of [server.stdout, server.stderr])
        stream.on('data', (lines) => this.#output.push(String(lines)));
      return server;
    };
    this.#process = this.#start();
  }

  static async start(
    folder: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<RestateServer> {
    const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort(), findFreePort()]);
    const server = new RestateServer(folder, ports, settings);
    await server.#waitUntilHealthy();
    return server;
  }

  /** Registers the worker, because the server calls it. A second call changes nothing. */
  async workerStarted(): Promise<void> {
    await this.#post('/deployments', { uri: `http://127.0.0.1:${this.#workerPort}` });
  }

  /** Submits an order from this process, without the example's command. */
  async submit(id: string, schedule: object): Promise<void> {
    await post(`${this.env.RESTATE_INGRESS}/order/${id}/run/send`, schedule);
  }

  /** Queries the server, as `restate sql` does. */
  async query(sql: string): Promise<Readonly<Record<string, unknown>>[]> {
    const { rows } = Object(await this.#post('/query', { query: sql }));
    return Array.isArray(rows) ? rows : [];
  }

  async rows(): Promise<number> {
    const [counted] = await this.query('SELECT count(*) AS entries FROM sys_journal');
    return Number(counted?.entries);
  }

  /** Cancels an invocation, as the command line or the web page does. */
  async cancel(invocation: string): Promise<void> {
    await fetch(`${this.#admin}/invocations/${invocation}/cancel`, { method: 'PATCH' });
  }

  async killAndStartAgain(): Promise<void> {
    await this.#end('SIGKILL');
    this.#process = this.#start();
    await this.#waitUntilHealthy();
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill(signal);
    await gone;
  }

  /** Waits for its partitions: the server reports that it is healthy before they are there. */
  async #waitUntilHealthy(): Promise<void> {
    await until(() => {
      if (this.#process.exitCode !== null)
        throw new Error(`Restate does not start: ${this.#output.join('')}`);
      return this.rows().then(
        () => true,
        () => false,
      );
    }, 'the Restate server');
  }

  #post(path: string, body: object): Promise<unknown> {
    return post(this.#admin + path, body);
  }
}

async function post(address: string, body: object): Promise<unknown> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`Restate responds ${response.status}: ${await response.text()}`);
  return response.json();
}

function findBinary(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  return join(cwd, 'node_modules', name, 'bin/restate-server');
}

export const restate: WorkflowExample = {
  name: 'Restate',
  folder: 'restate',
  start: (folder) => RestateServer.start(folder),
};
