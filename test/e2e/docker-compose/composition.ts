import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici';
import { type DatabaseServer, startPostgres } from '../../helpers/databases.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import {
  type ComposeFile,
  type ComposeService,
  findPublishedPorts,
  type PublishedPort,
} from './compose-file.ts';
import type { ContainerNetwork } from './container-network.ts';
import type { Image } from './image.ts';

const DATABASE_PORT = 5432;

/** What a command of a container printed, and its exit code. */
export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

/**
 * The services of a compose file as processes of this machine, with exactly its commands and environments. PostgreSQL
 * comes from npm, with the user and the database that the compose file names.
 */
export class Composition {
  readonly #file: ComposeFile;
  readonly #image: Image;
  readonly #published: readonly PublishedPort[];
  /** The port of this machine for `service:port`. */
  readonly #ports: ReadonlyMap<string, number>;
  readonly #database: DatabaseServer;
  readonly #containers = new Map<string, ChildProcess>();
  readonly #logs = new Map<string, string>();
  readonly #agent: Agent;

  private constructor(
    file: ComposeFile,
    image: Image,
    ports: ReadonlyMap<string, number>,
    database: DatabaseServer,
  ) {
    this.#file = file;
    this.#image = image;
    this.#ports = ports;
    this.#database = database;
    this.#published = findPublishedPorts(file);
    const connect = buildConnector({});
    this.#agent = new Agent({
      connect: (options, callback) => {
        const port = String(this.#findPublished(options.hostname, Number(options.port)));
        connect({ ...options, hostname: '127.0.0.1', port }, callback);
      },
    });
  }

  static async create(file: ComposeFile, image: Image): Promise<Composition> {
    const database = await startPostgres();
    const ports = new Map([[`db:${DATABASE_PORT}`, database.port]]);
    for (const { service, port } of findPublishedPorts(file)) {
      ports.set(`${service}:${port}`, await findFreePort());
    }
    return new Composition(file, image, ports, database);
  }

  /** Starts a service after those that it depends on, each once it is healthy. */
  async up(name: string): Promise<void> {
    const service = this.#find(name);
    for (const needed of Object.keys(service.depends_on)) await this.up(needed);
    if (this.#containers.has(name)) return;
    if (service.image?.startsWith('postgres:')) await this.#prepareDatabase(service);
    else await this.#start(name, service);
  }

  /** Asks a service to end, as `docker compose stop` does. Returns its exit code. */
  stop(name: string): Promise<number | null> {
    return this.#end(name, 'SIGTERM');
  }

  /** Runs a command in the container of a service, as `docker compose exec` does. */
  async exec(name: string, command: readonly string[]): Promise<CommandResult> {
    const child = this.#spawn(name, this.#find(name), command);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk;
      });
    }
    const [code] = await once(child, 'close');
    return { code, output };
  }

  /** Sends a request to a published port, such as `http://localhost:3000`. */
  fetch(url: string, init: RequestInit = {}): Promise<Response> {
    return fetch(url, { redirect: 'manual', ...init, dispatcher: this.#agent });
  }

  /** Returns the rows of a query, as the user of the shop. */
  async query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const {
      POSTGRES_USER: user,
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: database,
    } = this.#find('db').environment;
    const client = new Client({ host: '127.0.0.1', port: this.#database.port, user, password, database });
    await client.connect();
    try {
      const { rows } = await client.query(text, [...values]);
      return rows;
    } finally {
      await client.end();
    }
  }

  /** What a service has printed. */
  logs(name: string): string {
    return this.#logs.get(name) ?? '';
  }

  async close(): Promise<void> {
    for (const name of this.#containers.keys()) await this.#end(name, 'SIGKILL');
    await this.#agent.close();
    await this.#database.stop();
  }

  #find(name: string): ComposeService {
    const service = this.#file.services[name];
    if (!service) throw new Error(`compose.yaml has no service ${name}.`);
    return service;
  }

  #findPublished(hostname: string, hostPort: number): number | undefined {
    const published = this.#published.find((candidate) => candidate.hostPort === hostPort);
    if (hostname !== 'localhost' || !published) throw new Error(`Nothing publishes ${hostname}:${hostPort}.`);
    return this.#ports.get(`${published.service}:${published.port}`);
  }

  async #prepareDatabase({ environment }: ComposeService): Promise<void> {
    const client = new Client({ connectionString: this.#database.url });
    await client.connect();
    const { POSTGRES_USER = '', POSTGRES_PASSWORD = '', POSTGRES_DB = '' } = environment;
    const user = client.escapeIdentifier(POSTGRES_USER);
    const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [POSTGRES_USER]);
    if (rowCount === 0) {
      await client.query(`CREATE ROLE ${user} LOGIN PASSWORD ${client.escapeLiteral(POSTGRES_PASSWORD)}`);
      await client.query(`CREATE DATABASE ${client.escapeIdentifier(POSTGRES_DB)} OWNER ${user}`);
    }
    await client.end();
  }

  async #start(name: string, service: ComposeService): Promise<void> {
    const child = this.#spawn(name, service, service.command ?? this.#image.command);
    this.#containers.set(name, child);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => this.#logs.set(name, `${this.logs(name)}${chunk}`));
    }
    const [, ...healthCheck] = service.healthcheck.test;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`${name} exited: ${this.logs(name)}`);
      const { code } = await this.exec(name, healthCheck);
      if (code === 0) return;
    }
  }

  #spawn(name: string, { environment }: ComposeService, command: readonly string[]): ChildProcess {
    const [program = '', ...args] = command;
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(program, args, {
      cwd: this.#image.workdir,
      env: {
        PATH: [dirname(process.execPath), PATH].join(delimiter),
        HOME,
        ...this.#image.env,
        ...environment,
        NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'container-network.ts'))}`,
        CONTAINER_NETWORK: JSON.stringify(this.#createNetwork(name)),
      },
    });
    const onExit = () => void child.kill('SIGKILL');
    process.once('exit', onExit);
    child.once('exit', () => process.off('exit', onExit));
    return child;
  }

  #createNetwork(name: string): ContainerNetwork {
    const entries = [...this.#ports];
    const own = entries.flatMap(([address, port]) =>
      address.startsWith(`${name}:`) ? [[address.slice(name.length + 1), port] as const] : [],
    );
    const loopback = own.map(([port, real]) => [`127.0.0.1:${port}`, real] as const);
    return { connect: Object.fromEntries([...entries, ...loopback]), listen: Object.fromEntries(own) };
  }

  async #end(name: string, signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#containers.get(name);
    if (!child) throw new Error(`${name} does not run.`);
    this.#containers.delete(name);
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    }
    return child.exitCode;
  }
}
