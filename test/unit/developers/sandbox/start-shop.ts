import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenForTest } from '../../../helpers/listen.ts';

interface ReceivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Accepts every webhook. */
export const accept: RequestListener = (_, response) => void response.writeHead(204).end();

/** Responds with the statuses in turn, and with 204 after the last. */
export function respondWith(statuses: readonly number[], body = ''): RequestListener {
  const rest = [...statuses];
  return (_, response) => void response.writeHead(rest.shift() ?? 204).end(body);
}

/** Starts a shop that receives webhooks over HTTP, until the test ends. */
export async function startShop(respond: RequestListener = accept) {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    received.push({ method, url, headers, body: await text(request).catch(() => '') });
    respond(request, response);
  });
  const host = `127.0.0.1:${await listenForTest(server)}`;
  /** The payloads that arrived. */
  const read = () => received.map(({ body }) => JSON.parse(body));
  return { host, url: `http://${host}/webhooks`, received, read };
}
