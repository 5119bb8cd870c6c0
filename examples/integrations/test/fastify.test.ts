import { createApp } from '../fastify/app.ts';
import { describeCheckout } from './checkout-scenarios.ts';

describeCheckout('The Fastify checkout', async (shop) => {
  const app = await createApp(shop);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url, close: () => app.close() };
});
