import { Shop } from '../shop/shop.ts';
import { createApp } from './app.ts';

// The base URL and the key come from PAYMENTS_BASE_URL and PAYMENTS_API_KEY.
const app = await createApp(new Shop());
console.log(await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' }));

process.once('SIGTERM', () => app.close());
