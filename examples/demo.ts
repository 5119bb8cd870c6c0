/**
 * A demo of half a minute: `npm run demo`. It sends nothing to the network, unless PAYMENTS_BASE_URL and
 * PAYMENTS_API_KEY name a service.
 */
import { startSandbox } from 'payment-collection-client/sandbox';
import { parseArguments, UsageError } from './demo/arguments.ts';
import { runSandboxDemo } from './demo/sandbox.ts';
import { printHeading } from './demo/screen.ts';
import { runServiceDemo } from './demo/service.ts';

try {
  const serviceDemo = parseArguments(process.argv.slice(2), process.env);
  if (serviceDemo) {
    await runServiceDemo(serviceDemo);
  } else {
    await using sandbox = await startSandbox();
    await runSandboxDemo(sandbox);
  }
} catch (error) {
  process.exitCode = 1;
  if (error instanceof UsageError) {
    console.error(`demo: ${error.message}`);
  } else {
    printHeading('The demo failed');
    console.error(error);
  }
}
