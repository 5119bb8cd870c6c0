/** What Neon runs in front of its PostgreSQL, as far as its driver needs it: queries over HTTP, and a WebSocket to the server. */

import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import { Pool as NeonPool, neon, neonConfig } from '@neondatabase/serverless';
import { Pool } from 'pg';
import { createWebSocketStream, WebSocketServer } from 'ws';
import * as z from 'zod';
import { startListening } from '../../helpers/start-listening.ts';
import type { RunningDatabase } from './database.ts';
import { startServer } from './postgres-database.ts';

const PORT = 'neon_proxy';

const querySchema = z.object({ query: z.string(), params: z.array(z.nullable(z.string())) });

/** Starts PostgreSQL with the proxy in front of it. The place names both. */
export async function startNeon(): Promise<RunningDatabase> {
  const server = await startServer();
  const pool = new Pool({ connectionString: server.place, max: 50 });
  pool.on('error', () => {});
  const proxy = createServer(async (request, response) => {
    const [status, body] = await runQuery(pool, request).then(
      (result) => [200, result] as const,
      (error: unknown) => [400, describeError(error)] as const,
    );
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const { hostname, port } = new URL(server.place);
  const sockets = new WebSocketServer({ server: proxy });
  sockets.on('connection', (socket) => {
    const client = createWebSocketStream(socket);
    const database = connect(Number(port), hostname);
    for (const [stream, other] of [
      [client, database],
      [database, client],
    ] satisfies [Duplex, Duplex][]) {
      stream.on('error', () => other.destroy());
      stream.pipe(other);
    }
  });
  const listening = await startListening(proxy);
  const place = new URL(server.place);
  place.searchParams.set(PORT, String(listening.port));
  return {
    ...server,
    place: place.href,
    async stop() {
      for (const socket of sockets.clients) socket.terminate();
      await listening.stop();
      await pool.end();
      await server.stop();
    },
  };
}

/** Runs a query as Neon does over HTTP: outside a transaction, with all values as text. */
async function runQuery(pool: Pool, request: IncomingMessage): Promise<object> {
  const { query, params } = querySchema.parse(await json(request));
  const { fields, rows, command, rowCount } = await pool.query({
    text: query,
    values: params,
    rowMode: 'array',
    types: { getTypeParser: () => String },
  });
  return { command, rowCount, rowAsArray: true, fields, rows };
}

function describeError(error: unknown): object {
  const { message, code, severity } = Object(error);
  return { message: String(message), code, severity };
}

/** Connects the driver to the proxy of a place. Returns the URL that the driver is given. */
export function connectNeon(place: string): string {
  const url = new URL(place);
  const proxy = `127.0.0.1:${url.searchParams.get(PORT)}`;
  url.searchParams.delete(PORT);
  neonConfig.fetchEndpoint = () => `http://${proxy}/sql`;
  neonConfig.wsProxy = () => `${proxy}/v2`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineConnect = false;
  neonConfig.pipelineTLS = false;
  return url.href;
}

export const openNeonHttp = (place: string) => neon(connectNeon(place));

export function openNeonPool(place: string): NeonPool {
  const pool = new NeonPool({ connectionString: connectNeon(place), max: 4 });
  pool.on('error', () => {});
  return pool;
}
