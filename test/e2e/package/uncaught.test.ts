import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { CLOSED_PORT } from '../../helpers/raw-service.ts';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';
import { fileNames, loading, type ModuleSystem, moduleSystems } from './loading.ts';
import { project, tool } from './project.ts';
import { run } from './run.ts';

const versions = ['22.0', '22', '24', '26'];
const cells = versions.flatMap((version) => moduleSystems.map((system) => ({ version, system })));

const PAGE = `<html>${'Please come back later. '.repeat(500)}</html>`;

/** Starts a service that drops each charge, and responds to other requests by the reference in their path. */
function startOddService() {
  return startService((response, { path }) => {
    if (path.endsWith('/charge-mobile-money')) return response.destroy();
    if (path.endsWith('/TXN-page')) return response.writeHead(401).end(PAGE);
    if (path.endsWith('/TXN-odd')) return sendJson(response, 200, { rows: PAGE.split(' ') });
    if (path.endsWith('/TXN-pending'))
      return sendJson(response, 200, successBodies.verify({ reference: 'TXN-pending', status: 'pending' }));
    return sendJson(response, 200, successBodies.verify({ reference: 'TXN-other' }));
  });
}

const charge = `{ amount: 25, customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' }`;

/** Calls that fail with an uncaught error: how the printout starts, its code, and a frame of the call. */
const failures: Record<string, { call: string; printed: RegExp; code: string; frame: RegExp }> = {
  'a misspelt option': {
    call: `new PaymentsClient({ apikey: 'sk_test_1' })`,
    printed: /^ConfigurationError: /m,
    code: 'configuration_error',
    frame: /at new PaymentsClient /,
  },
  'a wrong input': {
    call: `client.chargeMobileMoney({ amount: 0 })`,
    printed: /^InvalidInputError: /m,
    code: 'invalid_input',
    frame: /at (?:async )?PaymentsClient\.chargeMobileMoney /,
  },
  'a charge without a response': {
    call: `client.chargeMobileMoney(${charge})`,
    printed: /^OutcomeUnknownError: chargeMobileMoney: /m,
    code: 'outcome_unknown',
    frame: /at async PaymentsClient\.chargeMobileMoney /,
  },
  'no service': {
    call: `new PaymentsClient({ ...options, baseUrl: closed }).chargeMobileMoney(${charge})`,
    printed: /^ConnectionError: chargeMobileMoney: /m,
    code: 'connection_error',
    frame: /at async PaymentsClient\.chargeMobileMoney /,
  },
  'a refusal with a long page': {
    call: `client.verify('TXN-page')`,
    printed: /^AuthenticationError: verify: the service responded 401/m,
    code: 'authentication_error',
    frame: /at async PaymentsClient\.verify /,
  },
  'long JSON that is no transaction': {
    call: `client.verify('TXN-odd')`,
    printed: /^UnexpectedResponseError: verify: /m,
    code: 'unexpected_response',
    frame: /at async PaymentsClient\.verify /,
  },
  'another transaction': {
    call: `client.verify('TXN-1')`,
    printed: /^TransactionMismatchError: /m,
    code: 'transaction_mismatch',
    frame: /at async PaymentsClient\.verify /,
  },
  'the end of a wait': {
    call: `client.waitForFinalStatus('TXN-pending', { timeout: 50 })`,
    printed: /^WaitTimeoutError: TXN-pending/m,
    code: 'wait_timeout',
    frame: /at \w+\.?\w* \(/,
  },
  'a closed client': {
    call: `client.close(), client.verify('TXN-1')`,
    printed: /^ClosedError: /m,
    code: 'closed',
    frame: /at PaymentsClient\.verify /,
  },
};

/** Returns what Node prints of an uncaught error. */
async function printUncaught(version: string, system: ModuleSystem, call: string, baseUrl: string) {
  const text = `${loading(system, { main: 'payment-collection-client' })}
    const { PaymentsClient } = main;
    const [baseUrl, closed] = process.argv.slice(2);
    const options = { apiKey: 'sk_test_1', baseUrl, maxRetries: 0 };
    const client = new PaymentsClient(options);
    ${call};
  `;
  const folder = await project({ [fileNames[system]]: text }, 'bare');
  const args = [fileNames[system], baseUrl, `http://127.0.0.1:${CLOSED_PORT}`];
  const failed = run(tool(`node-${version}/bin/node`), args, folder).then(
    () => '',
    ({ cause }: Error) => String(Object(cause).stderr),
  );
  return failed;
}

/** The line of code above the caret. */
const sourceLine = (printout: string) => /^(.*)\n\s*\^+$/m.exec(printout)?.[1] ?? '';

describe.each(cells)('on Node $version, as $system, an uncaught error', ({ version, system }) => {
  test.each(Object.entries(failures))('shows its code, cause and frames: %s', async (_, failure) => {
    const { baseUrl } = await startOddService();
    const printout = await printUncaught(version, system, failure.call, baseUrl);
    expect(printout).toMatch(failure.printed);
    // The first property of the error, in front of those of its causes.
    expect(
      /^[^{}]*? {\n {2}(?:\[cause\]|code: '(\w+)')/m.exec(
        printout.slice(printout.search(failure.printed)),
      )?.[1],
    ).toBe(failure.code);
    expect(printout).toMatch(failure.frame);
    const frames = [
      ...printout.matchAll(/^ +at (?:async )?(?:new )?(\S+) \(.*payment-collection-client.dist/gm),
    ];
    for (const [, name] of frames) expect(name).toMatch(/^(?:#?[\w<>]{4,}\.?)+$/);
    expect(sourceLine(printout)).toMatch(/^ *\S.{10,140}$/);
    expect(sourceLine(printout)).not.toMatch(/;\S/);
    expect(printout.length).toBeLessThan(6_000);
  });
});

test.each(moduleSystems)(
  'keeps the whole body of an error whose printout is short, as %s',
  async (system) => {
    const { baseUrl } = await startOddService();
    const caught = `.catch((error) => console.log(JSON.stringify({
    printed: require('node:util').inspect(error, { depth: null, maxStringLength: null, maxArrayLength: null }),
    body: error.body,
    json: JSON.parse(JSON.stringify(error)),
    own: Object.keys(error),
  })))`;
    const text = `${loading(system, { main: 'payment-collection-client', module: 'node:module' })}
    ${system === 'module' ? 'const require = module.createRequire(import.meta.url);' : ''}
    const client = new main.PaymentsClient({ apiKey: 'sk_test_1', baseUrl: process.argv[2], maxRetries: 0 });
    client.verify('TXN-odd')${caught};
    client.verify('TXN-page')${caught};
  `.replace('const module = require', 'const nodeModule = require');
    const folder = await project({ [fileNames[system]]: text }, 'bare');
    const printed = await run(tool('node-24/bin/node'), [fileNames[system], baseUrl], folder);
    for (const line of printed.trim().split('\n')) {
      const { printed, body, json, own } = JSON.parse(line);
      expect(printed.length).toBeLessThan(4_000);
      expect(inspect(body, { maxStringLength: null, maxArrayLength: null }).length).toBeGreaterThan(10_000);
      expect(json.body).toEqual(body);
      expect(own).not.toContain('body');
      expect(own[0]).toBe('code');
      expect(Object.keys(json).filter((name) => name === 'code')).toHaveLength(1);
      expect(json).toMatchObject({ name: expect.stringMatching(/Error$/), code: expect.any(String) });
    }
    expect(printed.trim().split('\n')).toHaveLength(2);
  },
);
