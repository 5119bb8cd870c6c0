/**
 * A tour in half a minute: `npm run demo`. Nothing but this machine takes part, unless PAYMENTS_BASE_URL and
 * PAYMENTS_API_KEY name a service.
 */
import { parseArgs } from 'node:util';
import { startSandbox } from 'payment-collection-client/sandbox';
import { heading } from './demo/screen.ts';
import { tourOfTheSandbox } from './demo/tour.ts';
import { tryTheService } from './demo/try-service.ts';

const { values } = parseArgs({
  options: {
    charge: { type: 'boolean', default: false },
    phone: { type: 'string' },
    network: { type: 'string' },
    amount: { type: 'string', default: '1.00' },
    email: { type: 'string', default: 'ama@example.com' },
  },
});

try {
  if (process.env.PAYMENTS_BASE_URL && process.env.PAYMENTS_API_KEY) {
    await tryTheService(values);
  } else {
    await using sandbox = await startSandbox();
    await tourOfTheSandbox(sandbox);
  }
} catch (error) {
  heading('The demo failed');
  console.error(error);
  process.exitCode = 1;
}
