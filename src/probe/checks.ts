import { findReferences } from '../api/find-references.ts';
import { referenceSchema } from '../api/input.ts';
import { initialize, verify } from '../api/operations.ts';
import { redactFieldName } from '../redact.ts';
import type { FinalStatus } from '../testing/ledger.ts';
import { isRecord, parseJson } from '../untrusted.ts';
import { version } from '../version.ts';
import type { ShownId } from './assumptions.ts';
import { isRefusal, NotShown, type Reply, type Service, SMALLEST } from './service.ts';

/** What a check has seen: no value of a request or a response is in it. */
interface Shown {
  readonly holds: boolean;
  readonly seen: string;
  /** In milliseconds. It differs from run to run, so no run is compared by it. */
  readonly took?: number;
}

/** What a person is asked to do on a checkout page. */
export interface PageTask {
  readonly page: string;
  readonly outcome: FinalStatus;
  /** Whether the page has led to this outcome before. */
  readonly isAgain: boolean;
}

/** A webhook that arrived. */
export interface Arrived {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** What the probe has beside the service. */
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

const isSuccess = ({ status }: Reply) => status >= 200 && status < 300;

/** Each request that several checks look at is made once. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Creates the check of each assumption, in the order in which they are made. */
export function createChecks(
  service: Service,
  preflight: Reply,
  { skipsCharge, person, webhooks }: Surroundings,
): Readonly<Record<ShownId, () => Promise<Shown>>> {
  const { grace } = service.options;
  const first = once(() => service.initialize());
  const firstReference = async () => requireReference(await first());
  const lag = once(async () => service.poll(await firstReference(), ({ status }) => status !== 404));
  const unpaid = once(async () => {
    const { reply } = await lag();
    if (!isSuccess(reply) || !('status' in reply.data)) throw new NotShown(`the read is a ${reply.status}`);
    return reply;
  });
  const equal = once(async () => {
    const body = { customer_email: service.newEmail() };
    const [one, other] = [await service.initialize(body), await service.initialize(body)];
    return requireReference(one) !== requireReference(other);
  });

  /** Lets a person bring about an outcome, and then try once more on the same page. */
  const play = async (ask: NonNullable<typeof person>, outcome: FinalStatus, payment: Reply) => {
    const { checkout_url: page } = payment.data;
    const reference = requireReference(payment);
    if (typeof page !== 'string') throw new NotShown('there is no checkout page');
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
      const payment = service.payments.filter(hasPage)[played.length] ?? (await service.initialize());
      played.push(await play(person, outcome, payment));
    }
    return played;
  });
  const secondTries = async (wanted: readonly FinalStatus[]): Promise<Shown> => {
    const tried = (await outcomes()).flatMap(({ outcome, after }) =>
      wanted.includes(outcome) && after !== '' ? [{ outcome, after }] : [],
    );
    if (tried.length === 0) throw new NotShown('no second try on a page');
    const holds = tried.every(({ outcome, after }) => outcome === after);
    return { holds, seen: tried.map(({ outcome, after }) => `${outcome}, then ${after}`).join('; ') };
  };

  return {
    address: async () => {
      const { status } = service.options.readsOnly ? preflight : await first();
      return {
        holds: status < 300 || status >= 400,
        seen: `${status} to a ${service.options.readsOnly ? 'GET' : 'POST'}`,
      };
    },
    'replica-lag': async () => {
      const { reply, took } = await lag();
      if (reply.status === 404) return { holds: false, seen: '404 to the end', took };
      if (!isSuccess(reply)) throw new NotShown(`the read is a ${reply.status}`);
      return { holds: true, seen: 'found in time', took };
    },
    clock: async () => {
      const date = Date.parse(preflight.headers.get('date') ?? '');
      if (Number.isNaN(date)) throw new NotShown('no header Date');
      // A date has whole seconds.
      const difference = Math.abs(preflight.at - preflight.halfTrip - date - 500);
      const holds = difference < MAX_CLOCK_DIFFERENCE;
      return { holds, seen: holds ? 'less than a minute apart' : 'a minute or more apart', took: difference };
    },
    'idle-connections': async () => {
      const { announced, isClosed = false } = await service.watchIdleConnection();
      const seconds = service.options.idleTime / 1000;
      const kept = isClosed ? `closed in under ${seconds} s, not announced` : `open for ${seconds} s`;
      return { holds: !isClosed, seen: announced === undefined ? kept : `announced: ${announced}` };
    },
    'wrong-key': async () => {
      const wrong = await service.get(service.nobodys, { apiKey: 'sk_test_payment_probe_wrong' });
      const none = await service.get(service.nobodys, { apiKey: null });
      const holds = [wrong, none].every(({ status }) => status === 401 || status === 403);
      return { holds, seen: `wrong: ${wrong.status}; none: ${none.status}` };
    },
    'unknown-headers': async () => {
      const headers = {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': `payment-probe/${version}`,
        'x-request-id': crypto.randomUUID(),
      };
      const reply = await service.get(service.nobodys, { headers });
      const echoed = [...reply.headers].filter(([, value]) => value === headers['x-request-id']);
      const echo =
        echoed.length === 0
          ? 'not echoed'
          : `echoed in ${echoed.map(([name]) => describeName(name)).join(', ')}`;
      const holds = reply.status === preflight.status;
      return { holds, seen: `${holds ? 'accepted' : reply.status}; X-Request-Id ${echo}` };
    },
    'unknown-reference': async () => ({ holds: preflight.status === 404, seen: `${preflight.status}` }),
    'success-2xx': async () => {
      const reply = await first();
      requireAttempt(reply);
      const { error } = initialize.output.safeParse(withStatus(reply.json));
      // Their forms are assumptions of their own.
      const paths =
        error?.issues.map(({ path }) => path.map((name) => describeName(String(name))).join('.')) ?? [];
      const wrong = paths.filter((path) => !/reference|checkout_url/.test(path));
      const form =
        wrong.length === 0 ? describeBody(reply) : `not as documented: ${wrong.join(', ') || 'the body'}`;
      return { holds: isSuccess(reply) && wrong.length === 0, seen: `${reply.status}; ${form}` };
    },
    'status-false': async () => {
      const reply = await first();
      const isFalse = isRecord(reply.json) && reply.json.status === false;
      const { status } = await service.get(requireReference(reply));
      return {
        holds: !isFalse || status >= 300,
        seen: isFalse ? 'false, and the payment exists' : 'not false',
      };
    },
    'reference-form': async () => {
      const holds = isReference(await firstReference());
      return { holds, seen: holds ? 'TXN- and a suffix' : 'another form' };
    },
    'page-form': async () => {
      const { data } = await first();
      const url = await firstReference().then((reference) => [String(data.checkout_url), reference] as const);
      const [page, reference] = url;
      const holds = /^https?:/.test(page) && page.endsWith(`/${reference}`);
      return { holds, seen: holds ? 'its path ends in the reference' : 'another form, or no page' };
    },
    'read-only': async () => {
      const [one, other] = [(await unpaid()).data, (await service.get(await firstReference())).data];
      const changed = Object.keys({ ...one, ...other }).filter(
        (name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]),
      );
      return {
        holds: changed.length === 0,
        seen: `changed: ${changed.map(describeName).join(', ') || 'nothing'}`,
      };
    },
    'none-is-null': async () => {
      const reply = await unpaid();
      const parsed = verify.output.safeParse(withStatus(reply.json));
      if (!parsed.success || parsed.data.status === 'success')
        throw new NotShown('no unpaid transaction can be read');
      const { paid_at } = reply.data;
      const seen =
        paid_at === null
          ? 'null'
          : typeof paid_at === 'string'
            ? `text of ${paid_at.length} characters`
            : typeof paid_at;
      return {
        holds: parsed.data.paid_at === null,
        seen: `paid_at: ${seen}; fields: ${Object.keys(reply.data).map(describeName).join(', ')}`,
      };
    },
    'new-is-open': async () => {
      const { status } = (await unpaid()).data;
      return { holds: status === 'pending' || status === 'processing', seen: describeWord(status) };
    },
    'money-echoed': async () => {
      const started = initialize.output.safeParse(withStatus((await first()).json));
      const read = verify.output.safeParse(withStatus((await unpaid()).json));
      if (!started.success || !read.success) throw new NotShown('the payment cannot be read');
      const wrong = [
        ...initialize.findMismatches(started.data, { ...SMALLEST, customer_email: '' }),
        ...verify.findMismatches(read.data, { reference: await firstReference(), expect: SMALLEST }),
      ].filter(({ field }) => field !== 'checkout_url');
      return {
        holds: wrong.length === 0,
        seen: `other: ${wrong.map(({ field }) => field).join(', ') || 'nothing'}`,
      };
    },
    'unknown-fields': async () => {
      const reply = await service.initialize({ payment_probe: 'x' });
      if (!isSuccess(reply) && !isRefusal(reply.status)) throw new NotShown(`${reply.status}`);
      return { holds: isSuccess(reply), seen: `${reply.status}` };
    },
    'equal-requests': async () => {
      const areTwo = await equal();
      return { holds: areTwo, seen: areTwo ? 'two transactions' : 'one transaction' };
    },
    'idempotency-key': async () => {
      if (!(await equal())) throw new NotShown('equal requests are one transaction without it too');
      const body = { customer_email: service.newEmail() };
      const sent = { headers: { 'idempotency-key': crypto.randomUUID() } };
      const [one, other] = [await service.initialize(body, sent), await service.initialize(body, sent)];
      const areTwo = requireReference(one) !== requireReference(other);
      return { holds: areTwo, seen: areTwo ? 'ignored: two transactions' : 'heeded: one transaction' };
    },
    'two-decimals': async () => {
      const reply = await service.initialize({ amount: 1.005 });
      if (!isSuccess(reply) && !isRefusal(reply.status)) throw new NotShown(`${reply.status}`);
      return { holds: isRefusal(reply.status), seen: `1.005: ${reply.status}` };
    },
    'rules-refused': async () => {
      const tooSmall = await service.initialize({ amount: 0.99 });
      const noEmail = await service.initialize({ customer_email: undefined });
      const { status } = await service.initialize({ currency: 'XXX' });
      requireAttempt(tooSmall);
      const holds = isRefusal(tooSmall.status) && isRefusal(noEmail.status);
      return {
        holds,
        seen: `0.99: ${tooSmall.status}; no email: ${noEmail.status}; currency XXX: ${status}`,
      };
    },
    'test-charge': async () => {
      if (skipsCharge) throw new NotShown('left out by --no-charge');
      const reply = await service.charge();
      if (!isSuccess(reply) && !isRefusal(reply.status)) throw new NotShown(`${reply.status}`);
      return { holds: isRefusal(reply.status), seen: `${reply.status}; ${describeBody(reply)}` };
    },
    refusal: async () => {
      const { refusals } = service;
      if (refusals.length === 0) throw new NotShown('nothing was refused');
      const named = refusals.filter(({ reference }) => reference !== undefined).length;
      const forms = new Set(refusals.map((reply) => `${reply.status}; ${describeBody(reply)}`));
      const seen = [...forms].join('; ');
      return {
        holds: named === 0,
        seen: named === 0 ? seen : `${named} of ${refusals.length} name a transaction: ${seen}`,
      };
    },
    'outcome-shown': async () => {
      const played = await outcomes();
      const holds = played.every(({ outcome, status }) => outcome === status);
      const seen = played.map(({ outcome, status }) =>
        outcome === status ? outcome : `${outcome}: still ${status}`,
      );
      return { holds, seen: seen.join('; '), took: Math.max(...played.map(({ took }) => took)) };
    },
    'success-stays': () => secondTries(['success']),
    'failed-stays': () => secondTries(['failed', 'abandoned']),
    'webhook-reference': async () => {
      if (webhooks === null) throw new NotShown('no --webhook-port');
      const references = (await outcomes()).map(({ reference }) => reference).filter(isReference);
      if (references.length === 0) throw new NotShown('references have another form');
      for (let waited = 0; webhooks.length < references.length && waited < grace; waited += 500)
        await service.sleep(Math.min(500, grace));
      if (webhooks.length === 0) throw new NotShown('none arrived');
      const found = webhooks.flatMap(({ body }) =>
        findReferences(body).filter((found) => references.includes(found)),
      );
      const fields = new Set(webhooks.flatMap(({ body }) => listFields(parseJson(body))));
      const headers = new Set(
        webhooks.flatMap(({ headers }) => Object.keys(headers)).filter((name) => !USUAL_HEADERS.test(name)),
      );
      const form = `fields: ${[...fields].join(', ') || 'none'}; headers: ${[...headers].map(describeName).join(', ') || 'none'}`;
      const times = found.length > new Set(found).size ? 'some twice' : 'each once';
      return { holds: found.length >= webhooks.length, seen: `${times}; ${form}` };
    },
  };
}

const USUAL_HEADERS =
  /^(?:host|connection|content-(?:length|type)|accept.*|user-agent|transfer-encoding|sec-.*|x-forwarded-.*)$/;

function requireReference({ reference, status }: Reply): string {
  if (reference === undefined) throw new NotShown(`no payment could be started (${status})`);
  return reference;
}

/** A redirect and a rate limit say nothing about what was sent. */
function requireAttempt({ status }: Reply): void {
  if (status === 429 || (status >= 300 && status < 400)) throw new NotShown(`nothing but ${status}`);
}

const isReference = (text: string) => referenceSchema.safeParse(text).success;
const hasPage = ({ data }: Reply) => typeof data.checkout_url === 'string';

/** Returns a body as if its boolean said success: what it says is an assumption of its own. */
const withStatus = (json: unknown) =>
  isRecord(json) && json.status === false ? { ...json, status: true } : json;

/** Returns the name of a field or a header if it names nobody. */
const describeName = (name: string) => redactFieldName(name);

/** Returns a status if it is a plain word, which no secret is. */
const describeWord = (value: unknown) =>
  typeof value === 'string' && /^(?!sk_)[a-z][a-z_]{0,31}$/i.test(value)
    ? value
    : `a value of type ${typeof value}`;

function describeBody({ json, text, headers }: Reply): string {
  const ids = [...headers.keys()]
    .filter((name) => /(?:request|correlation|trace)-?id$/i.test(name))
    .map(describeName);
  const id = ids.length > 0 ? `; request id in ${ids.join(', ')}` : '';
  if (isRecord(json)) return `JSON (${listFields(json).join(', ')})${id}`;
  return (text === '' ? 'no body' : json === undefined ? 'no JSON' : 'JSON that is no object') + id;
}

/** Lists the fields of an object, and of those in it: no value. */
function listFields(value: unknown): string[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const inside = listFields(field).map((inner) => `${describeName(name)}.${inner}`);
    return inside.length > 0 ? inside : [describeName(name)];
  });
}
