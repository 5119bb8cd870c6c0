import { onTestFinished } from 'vitest';
import type { Surroundings } from '../../../../src/developers/probe/checks.ts';
import { runProbe } from '../../../../src/developers/probe/run.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../../src/developers/sandbox/index.ts';

/** As short as loopback allows: nothing here waits for a clock. */
export const FAST = { timeout: 5_000, grace: 5, interval: 0, idleTime: 20 };

export const NOBODY: Surroundings = { skipsCharge: false, person: null, webhooks: null };

/** Starts a sandbox for one test. */
export async function startTestSandbox(options?: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** A person who presses the button of the sandbox's page at once. Another press changes nothing. */
export function playCustomer(sandbox: Sandbox): NonNullable<Surroundings['person']> {
  return async ({ page, outcome, isAgain }) => {
    const [, suffix = ''] = /TXN-\/?(\w+)$/.exec(page) ?? [];
    if (!isAgain) sandbox.settleAfter(`TXN-${suffix}`, 0, outcome);
    await sandbox.webhooks.flush();
    return true;
  };
}

/** Runs the probe against a sandbox, with a person and webhooks. */
export async function probeSandbox(options?: SandboxOptions) {
  const sandbox = await startTestSandbox(options);
  const webhooks: { headers: Record<string, string>; body: string }[] = [];
  sandbox.webhooks.deliverTo(async (request: Request) => {
    webhooks.push({ headers: Object.fromEntries(request.headers), body: await request.text() });
  });
  const around = { skipsCharge: false, person: playCustomer(sandbox), webhooks };
  const { baseUrl, testKey: apiKey } = sandbox;
  const { signal } = new AbortController();
  // Node closes an idle connection after a second at the earliest.
  const idleTime = options?.deviate === 'idle-connections' ? 4_000 : FAST.idleTime;
  const result = await runProbe({ ...FAST, idleTime, baseUrl, apiKey, signal, readsOnly: false }, around);
  return { ...result, sandbox };
}
