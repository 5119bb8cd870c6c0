import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startSandbox } from 'payment-collection-client/sandbox';
import { expect, it, onTestFinished } from 'vitest';
import { Browser, readOrderId } from './browser.ts';

it.each(['express', 'fastify'])(
  'the %s server ends when it is told to, with a payment still open',
  async (name) => {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.close());
    const server = spawn(process.execPath, [join(import.meta.dirname, '..', name, 'server.ts')], {
      env: {
        ...process.env,
        PORT: '0',
        PAYMENTS_BASE_URL: sandbox.baseUrl,
        PAYMENTS_API_KEY: sandbox.testKey,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    const [url] = await once(createInterface({ input: server.stdout }), 'line');

    const customer = new Browser(String(url));
    const order = readOrderId(await customer.get('/'));
    const gone = await customer.post('/checkout', { order, customer_email: 'ama@example.com' });
    expect(gone.status).toBe(303);
    expect(sandbox.transactions).toMatchObject([{ status: 'pending' }]);

    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
);
