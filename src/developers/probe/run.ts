import { type Assumption, assumptions } from './assumptions.ts';
import { createChecks, type Surroundings } from './checks.ts';
import { explainFailure, NotShown, type ProbeAccess, ProbeError, type Reply, Service } from './service.ts';

export const verdicts = ['holds', 'does not hold', 'not shown'] as const;

export interface ProbeFinding {
  readonly id: string;
  readonly verdict: (typeof verdicts)[number];
  /** What was seen, or why it was not shown. */
  readonly seen: string;
  /** Milliseconds. */
  readonly took?: number;
}

/**
 * Goes through all assumptions. It returns also when `signal` ends it: the rest is then not shown.
 *
 * @throws {ProbeError} if the address or the API key cannot be used
 */
export async function runProbe(
  options: ProbeAccess,
  around: Surroundings,
  onFinding: (finding: ProbeFinding) => void = () => {},
): Promise<{ findings: ProbeFinding[]; transactions: number }> {
  const service = new Service(options);
  const checks = createChecks(service, await readFirst(service), around);
  const found = new Map<string, ProbeFinding>();
  for (const [id, check] of Object.entries(checks)) {
    const attempt = options.signal.aborted ? Promise.reject(new NotShown('stopped')) : check();
    const finding: ProbeFinding = await attempt.then(
      ([holds, seen, took]) => ({
        id,
        verdict: holds ? 'holds' : 'does not hold',
        seen,
        ...(took === undefined ? {} : { took: Math.round(took) }),
      }),
      (error: unknown) => ({ id, verdict: 'not shown', seen: explainNotShown(error, options.signal) }),
    );
    found.set(id, finding);
    onFinding(finding);
  }
  const findings = [...assumptions].map(
    ([id, { unshown = '' }]): ProbeFinding => found.get(id) ?? { id, verdict: 'not shown', seen: unshown },
  );
  return { findings, transactions: service.transactions };
}

function explainNotShown(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return 'stopped';
  return error instanceof NotShown ? error.message : `The service ${explainFailure(error)}.`;
}

async function readFirst(service: Service): Promise<Reply> {
  const reply = await service.get(service.nobodys).catch((error: unknown) => {
    throw new ProbeError(explainNotShown(error, service.options.signal));
  });
  const { status, headers, text } = reply;
  if (status >= 300 && status < 400) {
    const location = headers.get('location') ?? '';
    const to = URL.canParse(location) ? ` to ${new URL(location).origin}` : '';
    throw new ProbeError(
      `The address redirects${to} (${status}). Set PAYMENTS_BASE_URL to the address behind it.`,
    );
  }
  if (status === 401 || status === 403)
    throw new ProbeError(
      `The service refuses the API key (${status}). Is it one of this service, and of its mode?`,
    );
  if (/html/i.test(headers.get('content-type') ?? '') || /^\s*</.test(text))
    throw new ProbeError(
      `The address responds with HTML (${status}), not with JSON. Does it end in its version prefix, such as /api/v1?`,
    );
  return reply;
}

/** Returns a finding as lines: its row of the table, and what to do if the assumption does not hold. */
export function formatFinding({ id, verdict, seen, took }: ProbeFinding): string[] {
  const time = took === undefined ? '' : ` (${(took / 1000).toFixed(1)} s)`;
  const row = `${verdict.padEnd(15)}${id.padEnd(23)}${seen}${time}`;
  const assumption: Assumption | undefined = assumptions.get(id);
  if (verdict !== 'does not hold' || !assumption) return [row];
  const { sentence, leans, todo, ask } = assumption;
  const plain = sentence.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
  return [
    row,
    ...[`Assumed: ${plain}`, `Leans on it: ${leans}.`, todo, ask && `Ask the provider: "${ask}"`]
      .filter((line) => line !== undefined)
      .map((line) => `${' '.repeat(15)}${line}`),
  ];
}

/** Returns what has changed since another run, among what both have shown, and what only that one has shown. */
export function compare(before: readonly ProbeFinding[], now: readonly ProbeFinding[]) {
  const earlier = new Map(before.map((finding) => [finding.id, finding]));
  const changes: string[] = [];
  const missing: string[] = [];
  for (const { id, verdict, seen } of now) {
    const was = earlier.get(id);
    if (!was || was.verdict === 'not shown') continue;
    if (verdict === 'not shown') missing.push(id);
    else if (was.verdict !== verdict || was.seen !== seen)
      changes.push(`${id}: ${was.verdict} (${was.seen}) before, ${verdict} (${seen}) now`);
  }
  return { changes, missing };
}
