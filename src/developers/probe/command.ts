import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod/mini';
import { isTestKey } from '../../api-key.ts';
import { ConfigurationError } from '../../errors.ts';
import { normalizeOptions } from '../../options.ts';
import { parseJson } from '../../support/untrusted.ts';
import { version } from '../../support/version.ts';
import { createScreen, type Screen, type Terminal } from '../../ui/screen.ts';
import type { PageTask } from './checks.ts';
import { startListener } from './listener.ts';
import { compare, formatFinding, type ProbeFinding, runProbe, verdicts } from './run.ts';
import { type ProbeAccess, ProbeError } from './service.ts';

const HELP = `payment-probe: find out what your payment service does where its documentation is silent.

It needs PAYMENTS_BASE_URL and PAYMENTS_API_KEY, a test key (sk_test_…), takes a minute,
and makes at most 12 transactions of the smallest amount in test mode.

  --no-charge             send no charge with the test key
  --no-pages              do not ask for the buttons of the checkout page
  --webhook-port <port>   receive webhooks on this port of 127.0.0.1
  --json <file>           write the report to a file, without values
  --compare <file>        print what has changed since that report
  --live                  accept a live key, and only read
  --help                  show this text
  --version               show the version

Exit codes
  0  every assumption that was shown holds; with --compare, nothing has changed
  3  an assumption does not hold; with --compare, something has changed
  1  it could not run to its end: stderr says what to change

Examples
  PAYMENTS_BASE_URL=https://payments.example/api/v1 PAYMENTS_API_KEY=sk_test_… npx payment-probe
  npx payment-probe --no-pages --compare probe.json
`;

const reportSchema = z.object({
  findings: z.array(z.object({ id: z.string(), verdict: z.enum(verdicts), seen: z.string() })),
});

/** How fast it asks, and how long it waits. Tests are faster. */
type Pace = Pick<ProbeAccess, 'timeout' | 'grace' | 'interval' | 'idleTime'>;
export const PACE: Pace = { timeout: 10_000, grace: 10_000, interval: 200, idleTime: 4_000 };

/** Runs `payment-probe` with these arguments, and returns its exit code. */
export async function runProbeCommand(
  args: readonly string[],
  terminal: Terminal,
  pace = PACE,
): Promise<number> {
  const screen = createScreen(terminal);
  try {
    return await run(args, terminal, screen, pace);
  } catch (error) {
    const isUsage =
      error instanceof TypeError && String(Reflect.get(error, 'code')).startsWith('ERR_PARSE_ARGS');
    if (!(isUsage || error instanceof ProbeError || error instanceof ConfigurationError)) throw error;
    // An argument can be anything that was pasted.
    const lines = isUsage
      ? [screen.redact.foreign(error.message), 'payment-probe --help shows the options.']
      : [screen.show(error.message)];
    await screen.err.print(`payment-probe: ${lines.join('\n')}`);
    return 1;
  }
}

async function run(
  args: readonly string[],
  { env, stopped }: Terminal,
  screen: Screen,
  pace: Pace,
): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'no-charge': { type: 'boolean' },
      'no-pages': { type: 'boolean' },
      'webhook-port': { type: 'string' },
      json: { type: 'string' },
      compare: { type: 'string' },
      live: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  });
  if (values.help || values.version) {
    await screen.out.print(values.version ? version : HELP.trimEnd());
    return 0;
  }
  const { live: readsOnly = false, 'webhook-port': port, 'no-charge': skipsCharge = false } = values;
  const access = readEnvironment(env, readsOnly);
  const before = values.compare === undefined ? undefined : await readFindings(values.compare);
  const writeReport = await openReport(values.json);
  await using listener = await startListener(parsePort(port));
  const person = async ({ page, outcome, isAgain }: PageTask) => {
    const address = listener.leadTo(page);
    const task = isAgain
      ? `Open the page again, and try to pay: ${address}`
      : `Open ${address}, and choose: ${outcome}.`;
    const answer = screen.ask(`${task} Then press Enter, or s and Enter to leave it out. `);
    return (await Promise.race([answer, once(stopped, 'abort')])) === '';
  };
  const around = {
    skipsCharge,
    person: screen.canAsk && !values['no-pages'] && !readsOnly ? person : null,
    webhooks: port === undefined ? null : listener.webhooks,
  };
  const { findings: found, transactions } = await runProbe(
    { ...pace, ...access, readsOnly, signal: stopped },
    around,
    ({ id, verdict }) => void screen.err.print(`${id}: ${verdict}`),
  );
  const findings = found.map((finding) => ({ ...finding, seen: screen.show(finding.seen) }));
  const count = (wanted: ProbeFinding['verdict']) =>
    findings.filter(({ verdict }) => verdict === wanted).length;
  const [holding, broken] = [count('holds'), count('does not hold')];
  await screen.out.print(
    ...findings.flatMap(formatFinding),
    '',
    `${holding} hold, ${broken} do not. Left in test mode, of the smallest amount: ${transactions} transactions.`,
  );
  if (stopped.aborted) throw new ProbeError('stopped: the rest is not shown.');
  await writeReport(findings);
  if (!before) return broken > 0 ? 3 : 0;
  const { changes, missing } = compare(before, findings);
  await screen.out.print(
    ...(changes.length > 0 ? ['Changed:', ...changes.map(screen.show)] : ['Nothing has changed.']),
    ...(missing.length > 0 ? [`Shown before, and not now: ${missing.join(', ')}.`] : []),
  );
  return changes.length > 0 ? 3 : 0;
}

/** @throws {ConfigurationError} if the address or the API key cannot be used */
function readEnvironment(
  env: NodeJS.ProcessEnv,
  readsOnly: boolean,
): Pick<ProbeAccess, 'baseUrl' | 'apiKey'> {
  const { PAYMENTS_BASE_URL: baseUrl = '', PAYMENTS_API_KEY: apiKey = '' } = env;
  const normalized = normalizeOptions({ baseUrl, apiKey });
  if (!readsOnly && !isTestKey(apiKey))
    throw new ProbeError(
      'PAYMENTS_API_KEY is no test key (sk_test_…). Nothing was sent. With --live, the probe only reads.',
    );
  return { baseUrl: normalized.baseUrl, apiKey };
}

/** Any free port leads to the pages. */
function parsePort(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new ProbeError('--webhook-port takes a number from 1 to 65535.');
}

/**
 * Returns what writes the report.
 *
 * @throws {ProbeError} if it cannot, before the minute that it would be about
 */
async function openReport(
  file: string | undefined,
): Promise<(findings: readonly ProbeFinding[]) => Promise<void>> {
  if (file === undefined) return async () => {};
  await writeFile(file, '', { flag: 'a' }).catch(() => {
    throw new ProbeError('The file of --json cannot be written. Nothing was sent.');
  });
  return (findings) => writeFile(file, `${JSON.stringify({ version, findings }, null, 2)}\n`);
}

async function readFindings(file: string): Promise<readonly ProbeFinding[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const { success, data } = reportSchema.safeParse(parseJson(text));
  if (!success) throw new ProbeError('The file of --compare is no report of --json.');
  return data.findings;
}
