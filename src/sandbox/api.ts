import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { bodyLimit } from 'hono/body-limit';
import { Hono } from 'hono/tiny';
import type { PaymentService } from '../testing/service.ts';

/** With the version prefix of SPEC.md. */
export const API_PATH = '/api/v1';

const MEBIBYTE = 2 ** 20;

/** The service of SPEC.md over HTTP. */
export function api(service: PaymentService): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(
    bodyLimit({
      maxSize: MEBIBYTE,
      onError: (c) => c.json({ status: false, message: 'The body is larger than 1 MiB.' }, 413),
    }),
  );
  app.all('*', async ({ req, env }) => {
    const response = await service.handle(req.raw);
    if (response.type !== 'error') return response;
    env.incoming.socket.resetAndDestroy();
    return RESPONSE_ALREADY_SENT;
  });
  return app;
}
