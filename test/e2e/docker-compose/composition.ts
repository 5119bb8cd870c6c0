import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, delimiter, dirname, join, matchesGlob } from 'node:path';
import { DockerfileParser } from 'dockerfile-ast';
import { Client } from 'pg';
import { startPostgres } from '../../helpers/databases.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { type ComposeService, FOLDER, readComposeFile } from './compose-file.ts';

/** Whether .dockerignore lets a file through: its last line that matches decides. */
export function isInContext(context: string, name: string): boolean {
  const lines = readFileSync(join(context, '.dockerignore'), 'utf8').trim().split('\n');
  const last = lines.findLast((line) => matchesGlob(name, line.replace(/^!/, '')));
  return last === undefined || last.startsWith('!');
}

/** Runs a program. It rejects if the exit code is not 0. */
async function run(program: string, args: readonly string[], cwd?: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} exited with ${code}.`);
}

/**
 * Copies what the Dockerfile copies, and installs as it does, into `folder`. As its README.md says for this repository, the
 * tarball of `npm pack` lies beside it.
 */
async function install(folder: string): Promise<void> {
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]);
  const dockerfile = DockerfileParser.parse(readFileSync(join(FOLDER, 'Dockerfile'), 'utf8'));
  for (const { instruction, text } of dockerfile.getInstructions().map((each) => ({
    instruction: each.getKeyword(),
    text: each.getRawArgumentsContent() ?? '',
  }))) {
    if (instruction === 'COPY')
      for (const name of globSync(text.split(' ').slice(0, -1), { cwd: FOLDER }))
        if (isInContext(FOLDER, name) && !name.endsWith('.tgz'))
          cpSync(join(FOLDER, name), join(folder, basename(name)));
    if (instruction === 'RUN' && text.includes('npm ')) await run('sh', ['-c', text], folder);
  }
  mkdirSync(join(folder, 'data'));
}

/**
 * Starts the services of compose.yaml as processes of this machine, with its commands and environments. Where it names a
 * service and a port, there is a free port. PostgreSQL comes from npm.
 */
export async function startComposition(folder: string) {
  const { services } = readComposeFile();
  const database = await startPostgres();
  const ports = { db: database.port, shop: await findFreePort(), sandbox: await findFreePort() };
  const shop = `http://127.0.0.1:${ports.shop}`;
  const sandbox = `http://127.0.0.1:${ports.sandbox}`;
  const translate = (text: string) =>
    text
      .replace(/(?:sandbox|localhost|127\.0\.0\.1):4010/g, `127.0.0.1:${ports.sandbox}`)
      .replace(/(?:shop|localhost|127\.0\.0\.1):3000/g, `127.0.0.1:${ports.shop}`)
      .replace('@db:5432', `@127.0.0.1:${ports.db}`);
  const containers = new Map<string, ChildProcess>();
  let printed = '';

  const find = (name: string): ComposeService => {
    const service = services[name];
    if (!service) throw new Error(`compose.yaml has no service ${name}.`);
    return service;
  };

  const start = (name: string, command: readonly string[]): ChildProcess => {
    const [program = '', ...args] = command.map(translate);
    const environment = Object.entries(find(name).environment).map(([key, text]) => [key, translate(text)]);
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH: [dirname(process.execPath), PATH].join(delimiter), HOME, PORT: `${ports.shop}` };
    return spawn(program, args, { cwd: folder, env: { ...env, ...Object.fromEntries(environment) } });
  };

  /** Runs a command in the container of a service, as `docker compose exec` does. */
  const exec = async (name: string, command: readonly string[]) => {
    const child = start(name, command);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        output += chunk;
      });
    const [code] = await once(child, 'close');
    return { code, output };
  };

  /** Starts a service after those that it depends on, each once it is healthy. */
  const up = async (name: string): Promise<void> => {
    const { depends_on, command = ['node', 'server.ts'], healthcheck } = find(name);
    for (const needed of Object.keys(depends_on)) await up(needed);
    if (containers.has(name) || name === 'db') return;
    const child = start(name, name === 'sandbox' ? [...command, `--port=${ports.sandbox}`] : command);
    containers.set(name, child);
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        printed += chunk;
      });
    const [, ...check] = healthcheck.test;
    while ((await exec(name, check)).code !== 0)
      if (child.exitCode !== null) throw new Error(`${name} exited: ${printed}`);
  };

  /** Asks a service to end, as `docker compose stop` does. Returns its exit code. */
  const stop = async (name: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    const child = containers.get(name);
    containers.delete(name);
    if (!child || child.exitCode !== null) return child?.exitCode ?? null;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
    return child.exitCode;
  };

  const connect = async (url: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    return client;
  };

  const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: name } = find('db').environment;
  const administrator = await connect(database.url);
  await administrator.query(`CREATE ROLE ${user} LOGIN PASSWORD '${password}'`);
  await administrator.query(`CREATE DATABASE ${name} OWNER ${user}`);
  await administrator.end();
  await install(folder);
  await up('shop');

  return {
    shop,
    sandbox,
    up,
    stop,
    exec,
    /** What the services have printed. */
    print: () => printed,
    /** Counts the parcels of an order, as the user of the shop. */
    countParcels: async (order: string): Promise<number> => {
      const client = await connect(translate(find('shop').environment.DATABASE_URL ?? ''));
      const { rowCount } = await client.query('SELECT 1 FROM parcels WHERE order_id = $1', [order]);
      await client.end();
      return rowCount ?? 0;
    },
    close: async () => {
      for (const running of containers.keys()) await stop(running, 'SIGKILL');
      await database.stop();
    },
  };
}
