#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { ConfigurationError } from '../../errors.ts';
import { version } from '../../support/version.ts';
import { deviations } from '../service/deviations.ts';
import { SandboxError, type SandboxOptions, startSandbox } from './index.ts';

const HELP = `payment-sandbox: the payment service on this machine, with pages that play the customer.

  --port <number>         the port to listen on; 0 takes a free one (4010)
  --host <address>        the address to listen on (127.0.0.1)
  --allow-remote          allow a host that other machines can reach
  --public-url <address>  the address for others, used in checkout_url (the address that it listens on)
  --allow-host <name>     accept one more host name, such as its name in a network of containers; can be repeated
  --return-url <address>  where the checkout page leads back to, with the parameter reference
  --webhook-url <address> where a webhook is posted when a payment becomes final
  --allow-test-charges    charge Mobile Money with the test key too
  --state <file>          keep transactions over a restart, in an SQLite database
  --keep <number>         how many transactions to keep (100000)
  --expiry <seconds>      how long a prompt stays on the phone (300)
  --deviate <id>          break one assumption about the service, of those below
  --help                  show this text
  --version               show the version

What --deviate does
${Object.entries(deviations)
  .map(([id, { label }]) => `  ${id.padEnd(22)}${label}`)
  .join('\n')}

Exit codes
  0  stopped by Ctrl-C or SIGTERM, or showed this text or the version
  1  could not start: stderr says what to change

Examples
  npx payment-sandbox --state sandbox.db
  npx payment-sandbox --port 4020 \\
      --return-url http://127.0.0.1:3000/checkout/return \\
      --webhook-url http://127.0.0.1:3000/webhooks/payments
`;

try {
  await run();
} catch (error) {
  const isExpected = error instanceof SandboxError || error instanceof ConfigurationError;
  if (!isExpected && !isUsageError(error)) throw error;
  process.stderr.write(`payment-sandbox: ${error.message}\n`);
  if (isUsageError(error)) process.stderr.write('payment-sandbox --help shows the options.\n');
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '4010' },
      host: { type: 'string' },
      'allow-remote': { type: 'boolean' },
      'public-url': { type: 'string' },
      'allow-host': { type: 'string', multiple: true },
      'return-url': { type: 'string' },
      'webhook-url': { type: 'string' },
      'allow-test-charges': { type: 'boolean' },
      state: { type: 'string' },
      keep: { type: 'string' },
      expiry: { type: 'string' },
      deviate: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  });
  if (values.version || values.help) {
    process.stdout.write(values.version ? `${version}\n` : HELP);
    return;
  }
  const expiry = parseWhole('expiry', values.expiry, 1, 86_400);
  await startAndPrint({
    port: parseWhole('port', values.port, 0, 65_535),
    host: values.host,
    allowRemote: values['allow-remote'],
    publicUrl: values['public-url'],
    allowHosts: values['allow-host'],
    returnUrl: values['return-url'],
    webhookUrl: values['webhook-url'],
    allowTestCharges: values['allow-test-charges'],
    state: values.state,
    keep: parseWhole('keep', values.keep, 1, 10_000_000),
    promptExpiry: expiry && expiry * 1000,
    deviate: values.deviate,
  });
}

async function startAndPrint(options: SandboxOptions): Promise<void> {
  const sandbox = await startSandbox(options);
  const { url, baseUrl, testKey, liveKey, transactions } = sandbox;
  const { state, returnUrl, webhookUrl, allowTestCharges = false } = options;
  const lines = [
    ['base URL', baseUrl],
    ['live key', liveKey],
    [
      'test key',
      `${testKey} (${allowTestCharges ? '' : 'does not charge Mobile Money, '}has its own transactions)`,
    ],
    [],
    ['transactions', `${url}/`],
    ['phone', `${url}/phone`],
    ['checkout', `${url}/checkout/<reference>`],
    ['script API', `${url}/sandbox`],
    ...(returnUrl === undefined ? [] : [['return', hideCredentials(returnUrl)]]),
    ...(webhookUrl === undefined ? [] : [['webhooks', hideCredentials(webhookUrl)]]),
    ...(state === undefined ? [] : [['state', `${state} (${transactions.length} transactions)`]]),
  ];
  const list = lines.map(([name = '', value = '']) => `  ${name.padEnd(14)}${value}`.trimEnd()).join('\n');
  process.stdout.write(`The payment sandbox is ready. No money moves.${options.allowRemote ? ' Other machines can reach it.' : ''}

${list}

For a client without options, in the terminal of your shop:
  export PAYMENTS_BASE_URL=${baseUrl} PAYMENTS_API_KEY=${liveKey}

Ctrl-C stops it.
`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => sandbox.close());
}

/** Returns an address without the user name and the password that it can contain. */
function hideCredentials(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}

function parseWhole(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new SandboxError(`--${name} takes a whole number from ${min} to ${max}, not "${text}".`);
}

function isUsageError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('ERR_PARSE_ARGS_')
  );
}
