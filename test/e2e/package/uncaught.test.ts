import { describe, expect, test } from 'vitest';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';
import { named, runProgram, withSystems } from './runtimes.ts';

const PAGE = `<html>${'Please come back later. '.repeat(500)}</html>`;

/** Starts a service that drops each charge, and responds to other requests by the reference in their path. */
function startOddService() {
  return startService((response, { path }) => {
    if (path.endsWith('/charge-mobile-money')) return response.destroy();
    if (path.endsWith('/TXN-page')) return response.writeHead(401).end(PAGE);
    if (path.endsWith('/TXN-pending'))
      return sendJson(response, 200, successBodies.verify({ reference: 'TXN-pending', status: 'pending' }));
    return sendJson(response, 200, successBodies.verify({ reference: 'TXN-other' }));
  });
}

const charge = `{ amount: 25, customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' }`;

/** Calls that fail with an uncaught error: how the printout starts, its code, and a frame of the call. */
const failures: Record<string, { call: string; printed: RegExp; code: string; frame: RegExp }> = {
  'a misspelt option': {
    call: `new main.PaymentsClient({ apikey: 'sk_test_1' })`,
    printed: /^ConfigurationError: /m,
    code: 'configuration_error',
    frame: /at new PaymentsClient /,
  },
  'a charge without a response': {
    call: `client.chargeMobileMoney(${charge})`,
    printed: /^OutcomeUnknownError: chargeMobileMoney: /m,
    code: 'outcome_unknown',
    frame: /at async PaymentsClient\.chargeMobileMoney /,
  },
  'a refusal with a long page': {
    call: `client.verify('TXN-page')`,
    printed: /^AuthenticationError: verify: the service responded 401/m,
    code: 'authentication_error',
    frame: /at async PaymentsClient\.verify /,
  },
  'the end of a wait': {
    call: `client.waitForFinalStatus('TXN-pending', { timeout: 50 })`,
    printed: /^WaitTimeoutError: TXN-pending/m,
    code: 'wait_timeout',
    frame: /at \w+\.?\w* \(/,
  },
};

/** The line of code above the caret. */
const sourceLine = (printout: string) => /^(.*)\n\s*\^+$/m.exec(printout)?.[1] ?? '';

describe.each(withSystems(named(/Node/)))('on $name, as $system, an uncaught error', (cell) => {
  test.each(Object.entries(failures))('shows its code, cause and frames: %s', async (_, failure) => {
    const { baseUrl } = await startOddService();
    const text = `const client = new main.PaymentsClient({ apiKey: 'sk_test_1', baseUrl: '${baseUrl}', maxRetries: 0 });
      ${failure.call};`;
    const printout = await runProgram(cell, { loads: ['main'], text }).then(
      () => '',
      ({ cause }: Error) => String(Object(cause).stderr),
    );
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
    for (const [, name] of frames) expect(name).toMatch(/^(?:#?[\w<>]{3,}\.?)+$/);
    expect(sourceLine(printout)).toMatch(/^ *\S.{10,140}$/);
    expect(sourceLine(printout)).not.toMatch(/;\S/);
    expect(printout.length).toBeLessThan(6_000);
  });
});
