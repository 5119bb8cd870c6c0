import { createServer } from 'node:http';
import { Shop } from '../shop/shop.ts';
import { createApp } from './app.ts';

// The base URL and the key come from PAYMENTS_BASE_URL and PAYMENTS_API_KEY.
const shop = new Shop();
const server = createServer(createApp(shop));
server.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' }, () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`);
});

// After the requests that are in progress.
process.once('SIGTERM', () => server.close(() => shop.close()));
