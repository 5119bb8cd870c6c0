import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { listenForTest } from '../../../helpers/listen.ts';
import { startProcess } from '../../operators/command/merchant-project.ts';
import { startTestSandbox } from './run-probe.ts';

test.each(['SIGINT', 'SIGTERM'] as const)('prints what it has at %s, and what it left', async (signal) => {
  const { baseUrl, testKey } = await startTestSandbox();
  const env = { PAYMENTS_BASE_URL: baseUrl, PAYMENTS_API_KEY: testKey };
  const { child, ended } = startProcess(process.execPath, ['dist/payment-probe.js'], '.', env);
  child.stderr.once('data', () => child.kill(signal));
  const { code, out, err } = await ended;
  expect(out).toMatch(/^holds {10}address +200 to a POST$/m);
  expect(out).toMatch(/^not shown {6}equal-requests +stopped$/m);
  expect(out).toMatch(/amount: 1 transactions\.\n$/);
  expect(err).toMatch(/payment-probe: stopped: the rest is not shown\.\n$/);
  expect(code).toBe(1);
});

test('ends in order if its reader closes the pipe', async () => {
  const port = await listenForTest(
    createServer((_, response) => response.writeHead(404, { connection: 'close' }).end('{}')),
  );
  const env = { PAYMENTS_BASE_URL: `http://127.0.0.1:${port}/api/v1`, PAYMENTS_API_KEY: 'live-key' };
  const { child, ended } = startProcess(process.execPath, ['dist/payment-probe.js', '--live'], '.', env);
  child.stdout.destroy();
  const { code, err } = await ended;
  expect(err).not.toContain('EPIPE');
  expect(code).toBe(3);
});
