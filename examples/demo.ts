/**
 * A tour in half a minute: `npm run demo`. Nothing but this machine takes part, unless PAYMENTS_BASE_URL and
 * PAYMENTS_API_KEY name a service.
 */
import { startSandbox } from 'payment-collection-client/sandbox';
import { asked, NotUnderstood } from './demo/asked.ts';
import { heading } from './demo/screen.ts';
import { tourOfTheSandbox } from './demo/tour.ts';
import { tryTheService } from './demo/try-service.ts';

try {
  const serviceTry = asked(process.argv.slice(2), process.env);
  if (serviceTry) {
    await tryTheService(serviceTry);
  } else {
    await using sandbox = await startSandbox();
    await tourOfTheSandbox(sandbox);
  }
} catch (error) {
  process.exitCode = 1;
  if (error instanceof NotUnderstood) {
    console.error(`demo: ${error.message}`);
  } else {
    heading('The demo failed');
    console.error(error);
  }
}
