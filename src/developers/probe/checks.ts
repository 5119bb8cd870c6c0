import { findReferences, isReference } from '../../api/find-references.ts';
import { initialize, verify } from '../../api/operations.ts';
import { redactFieldName } from '../../support/redact.ts';
import { isRecord, parseJson } from '../../support/untrusted.ts';
import { version } from '../../support/version.ts';
import type { FinalStatus } from '../service/ledger.ts';
import { isRefusal, NotShown, type Reply, type Service, SMALLEST } from './service.ts';

/** Whether an assumption holds, and what was seen: no value of a request or a response. No run is compared by the milliseconds. */
type ProbeResult = readonly [holds: boolean, seen: string, took?: number];

export interface PageTask {
  readonly page: string;
  readonly outcome: FinalStatus;
  /** Whether the page has led to this outcome before. */
  readonly isAgain: boolean;
}

export interface Arrived {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export interface Surroundings {
  readonly skipsCharge: boolean;
  /** Resolves with whether the person did it. `null` if nobody is there. */
  readonly person: ((task: PageTask) => Promise<boolean>) | null;
  /** Those that have arrived so far. `null` if nothing listens. */
  readonly webhooks: readonly Arrived[] | null;
}

/** How far two clocks can be apart, in milliseconds. */
const MAX_CLOCK_DIFFERENCE = 60_000;
/** How long a second try on a page has to change something, in milliseconds. */
const SETTLE_TIME = 3_000;
/** Whatever comes with every webhook. */
const USUAL_HEADERS =
  /^(?:host|connection|content-.*|accept.*|user-agent|transfer-encoding|sec-.*|x-forwarded-.*)$/;

export function createChecks(
  service: Service,
  preflight: Reply,
  { skipsCharge, person, webhooks }: Surroundings,
): Readonly<Record<string, () => Promise<ProbeResult>>> {
  const { grace, readsOnly } = service.options;
  const first = once(() => service.initialize());
  const firstReference = async () => requireReference(await first());
  const lag = once(async () => service.poll(await firstReference(), ({ status }) => status !== 404));
  const unpaid = once(async () => {
    const { reply } = await lag();
    if (!hasSuccessStatus(reply) || !('status' in reply.data))
      throw new NotShown(`the read is a ${reply.status}`);
    return reply;
  });
  const makeTwo = async (headers = {}) => {
    const body = { customer_email: service.newEmail() };
    const [one, other] = [await service.initialize(body, headers), await service.initialize(body, headers)];
    return requireReference(one) !== requireReference(other);
  };
  const areTwo = once(() => makeTwo());

  /** Lets a person bring about an outcome, and then try once more on the same page. */
  const play = async (ask: NonNullable<typeof person>, outcome: FinalStatus, payment: Reply) => {
    const page = findPage(payment);
    const reference = requireReference(payment);
    if (page === undefined) throw new NotShown('there is no checkout page that a browser can open');
    if (!(await ask({ page, outcome, isAgain: false }))) throw new NotShown('the person left it out');
    const { reply, took } = await service.poll(reference, ({ data }) => data.status === outcome);
    const played = { outcome, reference, status: describeWord(reply.data.status), took, after: '' };
    if (played.status !== outcome || !(await ask({ page, outcome, isAgain: true }))) return played;
    const isChanged = ({ data }: Reply) => data.status !== outcome;
    const again = await service.poll(reference, isChanged, Math.min(SETTLE_TIME, grace));
    return { ...played, after: describeWord(again.reply.data.status) };
  };
  const outcomes = once(async () => {
    if (person === null) throw new NotShown('nobody is there to use the checkout pages');
    await firstReference();
    const played: Awaited<ReturnType<typeof play>>[] = [];
    for (const outcome of ['success', 'failed', 'abandoned'] as const) {
      const payment = service.payments.filter(findPage)[played.length] ?? (await service.initialize());
      played.push(await play(person, outcome, payment));
    }
    return played;
  });
  const secondTries = async (...wanted: readonly FinalStatus[]): Promise<ProbeResult> => {
    const tried = (await outcomes()).filter(({ outcome, after }) => wanted.includes(outcome) && after !== '');
    if (tried.length === 0) throw new NotShown('no second try on a page');
    const seen = tried.map(({ outcome, after }) => `${outcome}, then ${after}`);
    return [tried.every(({ outcome, after }) => outcome === after), seen.join('; ')];
  };

  return {
    address: async () => {
      const { status } = readsOnly ? preflight : await first();
      return [status < 300 || status >= 400, `${status} to a ${readsOnly ? 'GET' : 'POST'}`];
    },
    'replica-lag': async () => {
      const { reply, took } = await lag();
      if (reply.status === 404) return [false, '404 to the end', took];
      if (!hasSuccessStatus(reply)) throw new NotShown(`the read is a ${reply.status}`);
      return [true, 'found in time', took];
    },
    clock: async () => {
      const difference = Math.abs(preflight.at - Date.parse(preflight.headers.get('date') ?? ''));
      if (Number.isNaN(difference)) throw new NotShown('no header Date');
      const holds = difference < MAX_CLOCK_DIFFERENCE;
      return [holds, holds ? 'less than a minute apart' : 'a minute or more apart', difference];
    },
    'idle-connections': async () => {
      const { announced, watched, isClosed } = await service.watchIdleConnection();
      const seen = `${isClosed ? 'closed in under' : 'open for'} ${watched / 1000} s`;
      return [!isClosed, announced ? `announced: ${announced}; ${seen}` : `${seen}, not announced`];
    },
    'wrong-key': async () => {
      const wrong = await service.get(service.nobodys, { apiKey: 'sk_test_payment_probe_wrong' });
      const none = await service.get(service.nobodys, { apiKey: null });
      const holds = [wrong, none].every(({ status }) => status === 401 || status === 403);
      return [holds, `wrong: ${wrong.status}; none: ${none.status}`];
    },
    'unknown-headers': async () => {
      const id = crypto.randomUUID();
      const own = { accept: 'application/json', 'accept-encoding': 'identity', 'x-request-id': id };
      const headers = { ...own, 'user-agent': `payment-probe/${version}` };
      const reply = await service.get(service.nobodys, { headers });
      const echoes = [...reply.headers].flatMap(([name, value]) => (value === id ? [name] : []));
      const isSame = reply.status === preflight.status;
      return [isSame, `${isSame ? 'accepted' : reply.status}; X-Request-Id echoed in: ${listNames(echoes)}`];
    },
    'unknown-reference': async () => [preflight.status === 404, describeReply(preflight)],
    'success-2xx': async () => {
      const reply = await first();
      requireAttempt(reply);
      const { error } = initialize.output.safeParse(withStatus(reply.json));
      const paths = error?.issues.map(({ path }) => path.map((name) => describeName(String(name))).join('.'));
      // Their forms are assumptions of their own.
      const wrong = paths?.filter((path) => !/reference|checkout_url/.test(path)) ?? [];
      if (wrong.length > 0) return [false, `${reply.status}; not as documented: ${wrong.join(', ')}`];
      return [hasSuccessStatus(reply), describeReply(reply)];
    },
    'status-false': async () => {
      const { json } = await first();
      if (!isRecord(json) || json.status !== false) return [true, 'not false'];
      const exists = hasSuccessStatus((await lag()).reply);
      return [!exists, exists ? 'false, and the payment exists' : 'false, and there is no payment'];
    },
    'reference-form': async () => {
      const holds = isReference(await firstReference());
      return [holds, holds ? 'TXN- and a suffix' : 'another form'];
    },
    'page-form': async () => {
      const reference = await firstReference();
      const { checkout_url: page } = (await first()).data;
      const holds = typeof page === 'string' && page.endsWith(`/${reference}`);
      return [holds, holds ? 'its path ends in the reference' : 'another form, or no page'];
    },
    'read-only': async () => {
      const [one, other] = [(await unpaid()).data, (await service.get(await firstReference())).data];
      const names = Object.keys({ ...one, ...other });
      const changed = names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
      return [changed.length === 0, `changed: ${listNames(changed)}`];
    },
    'none-is-null': async () => {
      const { json, data } = await unpaid();
      const { data: read } = verify.output.safeParse(withStatus(json));
      if (!read || read.status === 'success') throw new NotShown('no unpaid transaction can be read');
      const type = data.paid_at === null ? 'null' : typeof data.paid_at;
      return [read.paid_at === null, `paid_at: ${type}; fields: ${listNames(Object.keys(data))}`];
    },
    'new-is-open': async () => {
      const { status } = (await unpaid()).data;
      return [status === 'pending' || status === 'processing', describeWord(status)];
    },
    'money-echoed': async () => {
      const [{ json, data }, { json: readJson }] = [await first(), await unpaid()];
      const { data: started } = initialize.output.safeParse(withStatus(json));
      const { data: read } = verify.output.safeParse(withStatus(readJson));
      if (!started || !read) throw new NotShown('the payment cannot be read');
      const wrong = [
        ...initialize.findMismatches(started, { ...SMALLEST, customer_email: '' }),
        ...verify.findMismatches(read, { reference: started.reference, expect: SMALLEST }),
      ].filter(({ field }) => field !== 'checkout_url');
      const form = /^\d+\.\d\d$/.test(`${data.amount}`) ? 'with two decimals' : 'of another form';
      const seen = `other: ${listNames(wrong.map(({ field }) => field))}; a ${typeof data.amount} ${form}`;
      return [wrong.length === 0, seen];
    },
    'unknown-fields': async () => {
      const reply = await service.initialize({ payment_probe: 'x' });
      requireDecision(reply);
      return [hasSuccessStatus(reply), `${reply.status}`];
    },
    'equal-requests': async () => {
      const holds = await areTwo();
      return [holds, holds ? 'two transactions' : 'one transaction'];
    },
    'idempotency-key': async () => {
      if (!(await areTwo())) throw new NotShown('equal requests are one transaction without it too');
      const holds = await makeTwo({ headers: { 'idempotency-key': crypto.randomUUID() } });
      return [holds, holds ? 'ignored: two transactions' : 'heeded: one transaction'];
    },
    'two-decimals': async () => {
      const reply = await service.initialize({ amount: 1.005 });
      requireDecision(reply);
      return [isRefusal(reply), `1.005: ${reply.status}`];
    },
    'rules-refused': async () => {
      const tooSmall = await service.initialize({ amount: 0.99 });
      const noEmail = await service.initialize({ customer_email: undefined });
      const { status } = await service.initialize({ currency: 'XXX' });
      requireAttempt(tooSmall);
      const seen = `0.99: ${tooSmall.status}; no email: ${noEmail.status}; currency XXX: ${status}`;
      return [isRefusal(tooSmall) && isRefusal(noEmail), seen];
    },
    refusal: async () => {
      const { refusals } = service;
      if (refusals.length === 0) throw new NotShown('nothing was refused');
      const forms = [...new Set(refusals.map(describeReply))].join('; ');
      const named = refusals.filter(({ reference }) => reference !== undefined).length;
      return [
        named === 0,
        named === 0 ? forms : `${named} of ${refusals.length} name a transaction: ${forms}`,
      ];
    },
    'test-charge': async () => {
      if (skipsCharge) throw new NotShown('left out by --no-charge');
      const reply = await service.charge();
      requireDecision(reply);
      return [isRefusal(reply) && reply.reference === undefined, describeReply(reply)];
    },
    'outcome-shown': async () => {
      const played = await outcomes();
      const late = played.filter(({ outcome, status }) => outcome !== status);
      const seen = late.map(({ outcome, status }) => `${outcome}: still ${status}`).join('; ');
      return [late.length === 0, seen || 'all three', Math.max(...played.map(({ took }) => took))];
    },
    'success-stays': () => secondTries('success'),
    'failed-stays': () => secondTries('failed', 'abandoned'),
    'webhook-reference': async () => {
      if (webhooks === null) throw new NotShown('no --webhook-port');
      const references = (await outcomes()).map(({ reference }) => reference).filter(isReference);
      if (references.length === 0) throw new NotShown('references have another form');
      // Also for one that comes a second time.
      await service.sleep(grace);
      if (webhooks.length === 0) throw new NotShown('none arrived');
      const named = webhooks
        .flatMap(({ body }) => findReferences(body))
        .filter((one) => references.includes(one));
      const fields = new Set(webhooks.flatMap(({ body }) => listFieldNames(parseJson(body))));
      const names = new Set(webhooks.flatMap(({ headers }) => Object.keys(headers)));
      const headers = listNames([...names].filter((name) => !USUAL_HEADERS.test(name)));
      const times = named.length > new Set(named).size ? 'some twice' : 'each once';
      return [named.length > 0, `${times}; fields: ${[...fields].join(', ') || 'none'}; headers: ${headers}`];
    },
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

const hasSuccessStatus = ({ status }: Reply) => status >= 200 && status < 300;

function findPage({ data }: Reply): string | undefined {
  const page = `${data.checkout_url}`;
  return /^https?:/i.test(page) && URL.canParse(page) ? new URL(page).href : undefined;
}

function requireReference({ reference, status }: Reply): string {
  if (reference === undefined) throw new NotShown(`no payment could be started (${status})`);
  return reference;
}

/** A redirect and a rate limit say nothing about what was sent. */
function requireAttempt({ status }: Reply): void {
  if (status === 429 || (status >= 300 && status < 400)) throw new NotShown(`nothing but ${status}`);
}

function requireDecision(reply: Reply): void {
  if (!hasSuccessStatus(reply) && !isRefusal(reply))
    throw new NotShown(`neither accepted nor refused: ${reply.status}`);
}

/** Returns a body as if its boolean said success: what it says is an assumption of its own. */
const withStatus = (json: unknown) =>
  isRecord(json) && json.status === false ? { ...json, status: true } : json;

/** Returns the name of a field or a header, as far as it names nobody. */
const describeName = (name: string) => (/TXN-/i.test(name) ? 'a reference' : redactFieldName(name));
const listNames = (names: readonly string[]) => names.map(describeName).join(', ') || 'none';

/** Returns a status if it is a plain word, which no secret is. */
const describeWord = (value: unknown) =>
  typeof value === 'string' && /^(?!sk_)[a-z][a-z_]{0,31}$/i.test(value)
    ? value
    : `not a word (${typeof value})`;

function describeReply({ status, json, text, headers }: Reply): string {
  const ids = [...headers.keys()].filter((name) => /(?:request|correlation|trace)-?id$/i.test(name));
  const id = ids.length > 0 ? `; request id in ${listNames(ids)}` : '';
  const other = text === '' ? 'no body' : json === undefined ? 'no JSON' : 'JSON that is no object';
  return `${status}; ${isRecord(json) ? `JSON (${listFieldNames(json).join(', ')})` : other}${id}`;
}

function listFieldNames(value: unknown): string[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const inside = listFieldNames(field).map((inner) => `${describeName(name)}.${inner}`);
    return inside.length > 0 ? inside : [describeName(name)];
  });
}
