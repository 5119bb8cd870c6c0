import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { assumptions } from '../../../../src/developers/probe/assumptions.ts';
import { PACE } from '../../../../src/developers/probe/command.ts';
import { createCertificate } from '../../../helpers/certificate.ts';
import { findFreePort } from '../../../helpers/free-port.ts';
import { listenForTest } from '../../../helpers/listen.ts';
import { CLOSED_PORT } from '../../../helpers/raw-service.ts';
import { createTempFolder } from '../../../helpers/temp-folder.ts';
import { runCommand } from './run-command.ts';
import { playCustomer, startTestSandbox } from './run-probe.ts';

const KEY = 'sk_test_sandbox';

async function startWithEnv(...[options]: Parameters<typeof startTestSandbox>) {
  const sandbox = await startTestSandbox(options);
  return { sandbox, env: { PAYMENTS_BASE_URL: sandbox.baseUrl, PAYMENTS_API_KEY: KEY } };
}

function createFile(): string {
  const { path, remove } = createTempFolder();
  onTestFinished(remove);
  return join(path, 'probe.json');
}

/** What must never be printed or stored. */
const SECRETS = /sk_test_s|sandbox-live|@example|0000000000|TXN-\w{3}/;

describe('prints one table', () => {
  test('with a row for each assumption, and no value of a transaction', async () => {
    const { env, sandbox } = await startWithEnv();
    const file = createFile();
    const { code, out, err } = await runCommand(['--json', file], { env });
    const rows = out.split('\n').slice(0, assumptions.size);
    expect(rows.map((row) => /^(?:holds|not shown) +([\w-]+) /.exec(row)?.[1])).toEqual([
      ...assumptions.keys(),
    ]);
    expect(out).toMatch(/\n22 hold, 0 do not\. Left in test mode, .*: 7 transactions\.\n$/);
    expect(err.split('\n')).toContain('clock: holds');
    expect(code).toBe(0);
    expect(sandbox.requests.length).toBeGreaterThan(15);
    expect(out + err + readFileSync(file, 'utf8')).not.toMatch(SECRETS);
  });

  test('with what to do, and what to ask, if an assumption does not hold', async () => {
    const { env } = await startWithEnv({ deviate: 'new-is-open' });
    const { code, out } = await runCommand([], { env });
    expect(code).toBe(3);
    expect(out).toContain('does not hold  new-is-open            abandoned\n');
    expect(out).toContain('               Leave the status out of polling.finalStatuses. If it is');
    expect(out).toContain(
      'Ask the provider: "Which status does a new payment have before the customer acts?"\n',
    );
  });
});

test('compares with an earlier report, and says what has changed', async () => {
  const { env, sandbox } = await startWithEnv({ deviate: 'equal-requests' });
  const file = createFile();
  writeFileSync(file, '{}');
  const refused = await runCommand(['--compare', file], { env });
  expect(refused.err).toBe('payment-probe: The file of --compare is no report of --json.\n');
  expect([refused.code, sandbox.requests]).toEqual([1, []]);
  expect((await runCommand(['--json', file], { env })).code).toBe(3);
  const same = await runCommand(['--compare', file], { env });
  expect([same.code, same.out]).toEqual([0, expect.stringMatching(/\nNothing has changed\.\n$/)]);
  const earlier = createFile();
  writeFileSync(earlier, readFileSync(file, 'utf8').replace('"one transaction"', '"two of three"'));
  const seen = await runCommand(['--compare', earlier], { env });
  expect(seen.out).toMatch(
    /\nChanged:\nequal-requests: .* \(two of three\) before, .* \(one transaction\) now\n/,
  );
  expect(seen.code).toBe(3);
  const other = await startWithEnv({ deviate: 'unknown-reference' });
  const { code, out } = await runCommand(['--compare', file], { env: other.env });
  expect(out).toMatch(
    /\nChanged:\n.*^unknown-reference: holds \(404; JSON \(status, message\)\) before, does not hold \(400; JSON /ms,
  );
  expect(code).toBe(3);
  const { out: fewer } = await runCommand(['--compare', file, '--no-charge'], { env });
  expect(fewer).toMatch(/\nNothing has changed\.\nShown before, and not now: test-charge\.\n$/);
});

describe('does no harm', () => {
  test('refuses a live key, and sends nothing', async () => {
    const { env, sandbox } = await startWithEnv();
    const { code, err } = await runCommand([], { env: { ...env, PAYMENTS_API_KEY: sandbox.liveKey } });
    expect(err).toMatch(/no test key .* Nothing was sent\. With --live, the probe only reads\.\n$/);
    expect([code, sandbox.requests]).toEqual([1, []]);
  });

  test('only reads with --live', async () => {
    const { env, sandbox } = await startWithEnv();
    const live = { ...env, PAYMENTS_API_KEY: sandbox.liveKey };
    const { code, out } = await runCommand(['--live'], { env: live, isTTY: true });
    expect(code).toBe(0);
    expect(out).toContain('holds          unknown-reference      404; JSON (status, message)\n');
    expect(out).toContain('not shown      equal-requests         with --live it only reads\n');
    expect(new Set(sandbox.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
    expect(out).not.toMatch(SECRETS);
  });

  test('stores no API key that a field is named as', async () => {
    const key = 'live-letters-only';
    const port = await listenForTest(
      createHttpServer((_, response) => response.writeHead(404).end(JSON.stringify({ [key]: '' }))),
    );
    const env = { PAYMENTS_BASE_URL: `http://127.0.0.1:${port}/api/v1`, PAYMENTS_API_KEY: key };
    const file = createFile();
    const { out } = await runCommand(['--live', '--json', file], { env });
    expect(out).toContain('404; JSON ([REDACTED])');
    expect(out + readFileSync(file, 'utf8')).not.toContain(key);
  });

  test('sends five requests a second', () => {
    expect(1_000 / PACE.interval).toBeLessThanOrEqual(5);
  });

  test('sends no charge with --no-charge', async () => {
    const { env, sandbox } = await startWithEnv();
    const { out } = await runCommand(['--no-charge'], { env });
    expect(out).toContain('not shown      test-charge            left out by --no-charge\n');
    expect(sandbox.requests.filter(({ operation }) => operation === 'chargeMobileMoney')).toEqual([]);
  });
});

test('leads a person to each page, and names no reference', async () => {
  const { env, sandbox } = await startWithEnv();
  const port = await findFreePort();
  sandbox.webhooks.deliverTo(`http://127.0.0.1:${port}/webhooks`);
  const play = playCustomer(sandbox);
  const { code, out, err } = await runCommand(['--webhook-port', `${port}`], {
    env,
    isTTY: true,
    onPrompt: async (prompt) => {
      const [, address = ''] = /(http:\/\/\S+\/\d+)/.exec(prompt) ?? [];
      if (address === '') return undefined;
      const page = (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? '';
      const outcome = (['success', 'failed', 'abandoned'] as const).find((name) => prompt.includes(name));
      if (outcome) await play({ page, outcome, isAgain: false });
      return outcome ? '' : 's';
    },
  });
  expect(out).toContain('holds          outcome-shown          all three (');
  expect(out).toContain('not shown      success-stays          no second try on a page\n');
  expect(out).toMatch(/holds {10}webhook-reference {6}each once; fields: event, data\.reference, /);
  expect(code).toBe(0);
  expect(out + err).not.toMatch(SECRETS);
});

test('says what it left when it is stopped', async () => {
  const { env, sandbox } = await startWithEnv();
  const stop = new AbortController();
  const onPrompt = (line: string) => (line.startsWith('equal-requests') ? stop.abort() : undefined);
  const file = createFile();
  writeFileSync(file, 'of an earlier run');
  const { signal } = stop;
  const { code, out, err } = await runCommand(['--json', file], { env, isTTY: true, signal, onPrompt });
  expect(readFileSync(file, 'utf8')).toBe('of an earlier run');
  expect(out).toContain('not shown      test-charge            stopped\n');
  expect(out).toContain('amount: 4 transactions.\n');
  expect(err).toMatch(/payment-probe: stopped: the rest is not shown\.\n$/);
  expect(code).toBe(1);
  expect(sandbox.requests.filter(({ operation }) => operation === 'initialize')).toHaveLength(4);
});

describe('says what is wrong, with exit code 1', () => {
  const serve = async (listener: RequestListener) =>
    `http://127.0.0.1:${await listenForTest(createHttpServer(listener))}/api/v1`;
  const cases: [string, () => Promise<NodeJS.ProcessEnv> | NodeJS.ProcessEnv, RegExp][] = [
    [
      'no address',
      () => ({ PAYMENTS_API_KEY: KEY }),
      /There is no base URL.* https:\/\/payments\.example\/api\/v1, /,
    ],
    ['no key', () => ({ PAYMENTS_BASE_URL: 'https://payments.example/api/v1' }), /There is no API key/],
    [
      'a closed port',
      () => at(`http://127.0.0.1:${CLOSED_PORT}/api/v1`),
      /refuses the connection.*\(ECONNREFUSED\)/,
    ],
    [
      'HTML',
      async () => at(await serve((_, response) => response.end('<!doctype html>'))),
      /HTML \(200\), not.*version prefix/,
    ],
    [
      'an address that hangs',
      async () => at(await serve(() => {})),
      /does not respond in time \(TimeoutError\)/,
    ],
    [
      'a redirect',
      async () =>
        at(
          await serve((_, response) =>
            response.writeHead(301, { location: 'https://payments2.example/TXN-1' }).end(),
          ),
        ),
      /redirects to https:\/\/payments2\.example \(301\)/,
    ],
    [
      'a wrong certificate',
      async () =>
        at(`https://127.0.0.1:${await listenForTest(createHttpsServer(createCertificate()))}/api/v1`),
      /TLS certificate.*\(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    ],
    ['no TLS', async () => at((await serve(() => {})).replace('http:', 'https:')), /does not speak TLS/],
    [
      'a key that the service refuses',
      async () => ({
        PAYMENTS_BASE_URL: (await startTestSandbox()).baseUrl,
        PAYMENTS_API_KEY: 'sk_test_other',
      }),
      /refuses the API key \(401\)/,
    ],
  ];
  const at = (PAYMENTS_BASE_URL: string) => ({ PAYMENTS_BASE_URL, PAYMENTS_API_KEY: KEY });

  test.each(cases)('%s', async (_, prepare, message) => {
    const { code, out, err } = await runCommand([], { env: await prepare(), timeout: 500 });
    expect(err).toMatch(message);
    expect(err).toMatch(/^payment-probe: [^\n]+\n$/);
    expect([code, out]).toEqual([1, '']);
    expect(err).not.toMatch(/sk_test_[so]|TXN/);
  });

  test('an option that does not exist', async () => {
    const { code, err } = await runCommand(['--lives'], { env: {} });
    expect(err).toMatch(
      /^payment-probe: Unknown option '--lives'.*\npayment-probe --help shows the options\.\n$/,
    );
    expect(code).toBe(1);
  });

  test('a port that cannot be used', async () => {
    const { env } = await startWithEnv();
    const port = await listenForTest(createHttpServer());
    expect((await runCommand(['--webhook-port', `${port}`], { env })).err).toMatch(/Port \d+ cannot be used/);
    for (const wrong of ['x', '0', '65536'])
      expect((await runCommand(['--webhook-port', wrong], { env })).err).toMatch(
        /takes a number from 1 to 65535/,
      );
  });

  test('a file that cannot be written, before anything is sent', async () => {
    const { env, sandbox } = await startWithEnv();
    const { code, err } = await runCommand(['--json', `${createFile()}/x`], { env });
    expect([code, err, sandbox.requests]).toEqual([1, expect.stringContaining('cannot be written'), []]);
  });
});
