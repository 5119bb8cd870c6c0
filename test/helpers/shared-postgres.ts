import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { type RestartableServer, startPostgres } from './databases.ts';

/** Lets all test files of a run share one PostgreSQL, which the first that asks for a database starts. */
export default async function sharePostgres(project: TestProject): Promise<() => Promise<void>> {
  let postgres: Promise<RestartableServer> | undefined;
  let databases = 0;
  const create = async (options: string) => {
    postgres ??= startPostgres();
    const { url } = await postgres;
    const name = `file_${++databases}`;
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`CREATE DATABASE ${name} ${options}`);
    await client.end();
    return url.replace(/postgres$/, name);
  };
  const server = createServer((request, response) => {
    text(request)
      .then(create)
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  project.provide('newDatabase', `http://127.0.0.1:${address.port}`);
  return async () => {
    server.close();
    server.closeAllConnections();
    await (await postgres)?.stop();
  };
}
