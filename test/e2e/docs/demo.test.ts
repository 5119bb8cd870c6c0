import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { parseArguments, UsageError } from '../../../examples/demo/arguments.ts';

/** A base URL where nothing listens: port 9 refuses connections. */
const address = { PAYMENTS_BASE_URL: 'http://127.0.0.1:9/api/v1' };
const key = { PAYMENTS_API_KEY: 'sk_test_demo' };
const service = { ...address, ...key };
const phone = ['--phone', '0244123456'];

test.each([
  [{}, ['--chrage'], "Unknown option '--chrage'"],
  [{}, ['--phone', '--charge'], "Option '--phone' argument is ambiguous"],
  [{}, ['1.00'], "Unexpected argument '1.00'"],
  [{}, ['--charge'], '--charge is for a service: set PAYMENTS_BASE_URL and PAYMENTS_API_KEY.'],
  [address, [], 'PAYMENTS_BASE_URL is set, and PAYMENTS_API_KEY is not.'],
  [key, [], 'PAYMENTS_API_KEY is set, and PAYMENTS_BASE_URL is not.'],
  [service, ['--charge'], '--charge needs --phone and --network (mtn, telecel, airteltigo).'],
  [service, ['--charge', ...phone], '--charge needs --phone and --network'],
  [service, ['--charge', ...phone, '--network', 'vodafone'], '--charge needs --phone and --network'],
  [service, ['--charge', '--network', 'mtn'], '--charge needs --phone and --network'],
  [service, ['--amount', '0.50'], 'amount must'],
  [service, ['--charge', '--phone', 'none', '--network', 'mtn'], 'phone must'],
])('is refused in one line before anything is sent: %o, %o', (environment, args, message) => {
  const parse = () => parseArguments(args, environment);
  expect(parse).toThrow(UsageError);
  expect(parse).toThrow(expect.objectContaining({ message: expect.stringMatching(/^.+$/) }));
  expect(parse).toThrow(message);
});

test.each([
  [{}, ['--chrage'], "Unknown option '--chrage'"],
  [service, ['--charge', '--phone', 'none', '--network', 'mtn'], 'phone must'],
])('exits with 1 and one line for %o and %o, and sends nothing', async (environment, args, message) => {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--no-warnings', 'examples/demo.ts', ...args], {
    env: { PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  expect([code, out]).toEqual([1, '']);
  expect(err.split('\n')).toEqual([expect.stringContaining(`demo: ${message}`), '']);
});
