import { createApp } from '../fastify/app.ts';
import { checkoutScenarios } from './checkout-scenarios.ts';

checkoutScenarios('The Fastify checkout', async (shop) => {
  const app = await createApp(shop);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url, close: () => app.close() };
});
