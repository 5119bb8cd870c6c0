import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { type RestartableServer, startPostgres } from './databases.ts';
import { startListening } from './start-listening.ts';

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
  });
  const { port, stop } = await startListening(server);
  project.provide('newDatabase', `http://127.0.0.1:${port}`);
  return async () => {
    await stop();
    await (await postgres)?.stop();
  };
}
