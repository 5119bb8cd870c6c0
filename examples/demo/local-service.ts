import { type HttpBindings, serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { getResponse } from 'msw';
import { createMockPayments, type MockPayments } from 'payment-collection-client/testing';

export interface LocalService {
  mock: MockPayments;
  stop(): Promise<void>;
}

/** The mock behind a real socket: what a client sees of it is what it would see of the service. */
export function startLocalService(): Promise<LocalService> {
  return new Promise((resolve) => {
    const app = new Hono<{ Bindings: HttpBindings }>();
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => {
      const mock = createMockPayments({ baseUrl: `http://127.0.0.1:${port}/api/v1` });
      app.all('*', async ({ req, env }) => {
        const response = await getResponse(mock.handlers, req.raw);
        if (response?.type !== 'error') return response ?? new Response('Not found', { status: 404 });
        // How MSW spells a connection that breaks.
        env.incoming.socket.resetAndDestroy();
        return RESPONSE_ALREADY_SENT;
      });
      resolve({ mock, stop: () => new Promise((stopped) => server.close(() => stopped())) });
    });
  });
}
