import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { vi } from 'vitest';
import {
  ClosedError,
  PaymentsError,
  type PaymentsEvent,
  type Poll,
  type RequestEvent,
  type ResponseEvent,
  type Transaction,
  type WaitEvent,
  type WaitOptions,
  WaitTimeoutError,
} from '../../src/index.ts';
import { isFinal } from '../../src/schedule.ts';
import { MINUTE, SECOND } from '../helpers/fake-clock.ts';
import {
  createResetError,
  createScriptedService,
  type ScriptedResponse,
} from '../helpers/scripted-service.ts';
import { charge } from '../helpers/service.ts';

const REFERENCES = 4;
const LATENCY = 300;
const TIMEOUT = 5 * SECOND;
/** How late a freeze is noticed, and how long the one check after a deadline that was missed can take. */
const NOTICED_AFTER = 9 * SECOND;
const FINAL_CHECK_TIMEOUT = 10 * SECOND;
const NOT_FOUND_GRACE = 10 * SECOND;

/** How the service responds to a check of one reference, until a step changes that. */
const responses: Record<string, () => ScriptedResponse | Promise<ScriptedResponse>> = {
  pending: () => 'pending',
  unrecognised: () => 'on_hold',
  success: () => 'success',
  abandoned: () => 'abandoned',
  hanging: () => new Promise(() => {}),
  broken: () => createResetError(),
  missing: () => new Response('', { status: 404 }),
  forbidden: () => new Response('', { status: 403 }),
  busy: () => new Response('', { status: 503, headers: { 'retry-after': '4' } }),
  refusing: () => new Response('', { status: 429, headers: { 'retry-after': '2' } }),
  refusingLonger: () => new Response('', { status: 429, headers: { 'retry-after': '7' } }),
};

const onPollKinds = ['nothing', 'throws', 'rejects', 'isSlow', 'changes', 'aborts', 'notifies'] as const;
const reference = fc.nat(REFERENCES - 1).map((index) => `TXN-${index}`);
const signal = fc.nat(2);
const start = fc.record({
  does: fc.constant('start' as const),
  kind: fc.constantFrom('wait' as const, 'wait' as const, 'watch' as const, 'glance' as const),
  reference,
  signal,
  timeout: fc.constantFrom(1, 400, 3_000, 9_000, 30_000, MINUTE, Number.POSITIVE_INFINITY),
  ago: fc.constantFrom(undefined, 0, 2_000, 20_000, -MINUTE),
  waitsThroughAbandoned: fc.boolean(),
  expects: fc.constantFrom(undefined, undefined, '25.50', '1.00'),
  onPoll: fc.constantFrom(...onPollKinds),
});
const notify = fc.record({ does: fc.constant('notify' as const), reference });
const abort = fc.record({ does: fc.constant('abort' as const), signal });
const close = fc.record({ does: fc.constant('close' as const) });
const action = fc.oneof(
  { weight: 5, arbitrary: start },
  { weight: 2, arbitrary: notify },
  { weight: 2, arbitrary: abort },
  { weight: 1, arbitrary: close },
);
const step = fc.oneof(
  { weight: 25, arbitrary: start },
  {
    weight: 15,
    arbitrary: fc.record({ does: fc.constant('pass' as const), time: fc.integer({ min: 1, max: 6_000 }) }),
  },
  { weight: 5, arbitrary: notify },
  { weight: 5, arbitrary: abort },
  { weight: 1, arbitrary: close },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('notifyOften' as const), reference }) },
  {
    weight: 15,
    arbitrary: fc.record({
      does: fc.constant('setResponse' as const),
      reference,
      response: fc.constantFrom(...Object.keys(responses)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('charge' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('freeze' as const),
      time: fc.constantFrom(300, 5_000, 15_000, 10 * MINUTE),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('setClock' as const),
      time: fc.constantFrom(-60 * MINUTE, -5_000, 60 * MINUTE),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('inEvent' as const),
      type: fc.constantFrom('request', 'response', 'poll', 'wait'),
      action,
    }),
  },
);

type Start = typeof start extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** `isCalm`: the process runs all the time, so each deadline is exact. */
export const run = fc.record({
  isCalm: fc.boolean(),
  maxConcurrency: fc.constantFrom(2, 64),
  maxRequestsPerSecond: fc.constantFrom(10, 50),
  steps: fc.array(step, { minLength: 15, maxLength: 50, size: 'max' }),
});

type Run = typeof run extends fc.Arbitrary<infer T> ? T : never;

interface Sent {
  at: number;
  reference: string | undefined;
}

interface OpenWait extends Start {
  deadline: number;
  /** Until when it can go on: its deadline, unless the process was frozen. */
  lastEnd: number;
  /** When a response came that ends it. */
  hasResult?: number;
  attempts: number;
  /** What ends it, besides the client. */
  controller: AbortController | undefined;
  /** Whether it was aborted or closed. Its promise rejects soon. */
  hasEnded: boolean;
}

/** Runs steps against a service, and records each broken promise about a request or a wait. */
export function createWorld({ isCalm, maxConcurrency, maxRequestsPerSecond }: Run) {
  const chosen = new Map<string, string>();
  const served = new Map<string, Set<string>>();
  const missingSince = new Map<string, number>();
  const forbidden = new Set<string>();
  const signals = [new AbortController(), new AbortController(), new AbortController()];
  const waits = new Set<OpenWait>();
  const ends: Promise<void>[] = [];
  const violations: string[] = [];
  const inFlight = new Map<string, string | undefined>();
  const lastEnds = new Map<string | undefined, number>();
  let isNoticedFrom = 0;
  const sent: Sent[] = [];
  const starts: Sent[] = [];
  const seenResults: string[] = [];
  const reported: string[] = [];
  const pause = { from: Number.POSITIVE_INFINITY, until: 0 };
  let isClosed = false;
  let next: (Step & { does: 'inEvent' }) | undefined;
  const broken = new Error('thrown by a callback');
  const fail = () => {
    throw broken;
  };
  const violate = (what: string) => `violation ${violations.push(`${performance.now()}: ${what}`)}`;

  const { client } = createScriptedService(
    (name) => {
      const response =
        (
          responses[name === 'charge-mobile-money' ? 'refusing' : (chosen.get(name) ?? 'pending')] ??
          responses.pending
        )?.() ?? 'pending';
      if (typeof response === 'string') served.set(name, (served.get(name) ?? new Set()).add(response));
      return response;
    },
    {
      latency: LATENCY,
      timeout: TIMEOUT,
      maxRetries: 0,
      logger: { debug: fail, info: fail, warn: fail, error: fail },
      polling: { maxConcurrency, maxRequestsPerSecond },
      onEvent: (event) => {
        if (event.type === 'request' && event.operation === 'verify') onRequest(event);
        if (event.type === 'response') onResponse(event);
        if (event.type === 'wait') onWaitEnd(event);
        meddle(event);
        fail();
      },
    },
  );

  const listWaits = (name: string | undefined) => [...waits].filter((wait) => wait.reference === name);

  const onRequest = ({ reference: name, requestId }: RequestEvent) => {
    const now = performance.now();
    sent.push({ at: now, reference: name });
    // The request of a wait that has just ended is aborted, and reports that soon.
    if ([...inFlight.values()].includes(name) && lastEnds.get(name) !== now)
      violate(`two requests at once for ${name}`);
    if (inFlight.set(requestId, name).size > maxConcurrency) violate('too many requests at once');
    if (isClosed) violate('a request after close');
    if (pause.from < now && now < pause.until) violate(`a request during a pause until ${pause.until}`);
    if (!listWaits(name).some(({ lastEnd }) => now < lastEnd))
      violate(`a request for ${name}, on which no wait is open`);
    // One by the schedule, one by `notify`, one for a deadline, and one for each new wait.
    if (countRecent(sent, name, now) > 3 + countRecent(starts, name, now))
      violate(`too many requests in a second for ${name}`);
  };

  const onResponse = ({ reference: name, requestId, status, error }: ResponseEvent) => {
    const now = performance.now();
    inFlight.delete(requestId);
    if (error === 'rate_limited') onRefusal(now, name);
    if (name === undefined || error === 'aborted') return;
    if (status === 404) missingSince.set(name, missingSince.get(name) ?? now);
    else missingSince.delete(name);
    if (status === 403) forbidden.add(name);
    for (const wait of listWaits(name)) {
      if (endsWith(wait, status, chosen.get(name))) wait.hasResult ??= now;
    }
  };

  const onRefusal = (now: number, name: string | undefined) => {
    if (now >= pause.until) pause.from = now;
    const seconds = name !== undefined && chosen.get(name) === 'refusingLonger' ? 7 : 2;
    pause.until = Math.max(pause.until, now + seconds * SECOND);
  };

  const onWaitEnd = ({ reference: name, result }: WaitEvent) => {
    lastEnds.set(name, performance.now());
    reported.push(result);
  };

  const meddle = ({ type }: PaymentsEvent) => {
    if (next?.type !== type) return;
    const { action: each } = next;
    next = undefined;
    act(each);
  };

  /** What keeps the thread busy, or stops the process. */
  const skip = (time: number) => {
    if (isCalm) return;
    skipTime(time);
    isNoticedFrom = performance.now() + NOTICED_AFTER;
    for (const wait of waits) delayEnd(wait);
  };

  /** Until the freeze is noticed, no deadline is exact. */
  const delayEnd = (wait: OpenWait) => {
    if (wait.deadline < isNoticedFrom) wait.lastEnd = isNoticedFrom + FINAL_CHECK_TIMEOUT;
  };

  const onPollDoes: Record<Start['onPoll'], (wait: OpenWait, poll: Poll) => unknown> = {
    nothing: () => {},
    throws: fail,
    rejects: () => Promise.reject(broken),
    isSlow: () => skip(50),
    changes: (_, { transaction }) =>
      transaction && Object.assign(transaction, { status: 'failed', amount: '1' }),
    aborts: (wait) => act({ does: 'abort', signal: wait.signal }),
    notifies: (wait) => client.notify(wait.reference),
  };

  const onPoll = (wait: OpenWait, poll: Poll): unknown => {
    // A poll that ends a wait does so before the caller's code can abort it.
    if (wait.hasEnded && poll.nextDelay !== null)
      violate(`onPoll of a wait on ${wait.reference} that has ended`);
    // A poll that a freeze made too old is counted, and has no result.
    if (poll.attempt <= wait.attempts) violate(`poll ${poll.attempt} after ${wait.attempts}`);
    wait.attempts = poll.attempt;
    return onPollDoes[wait.onPoll](wait, poll);
  };

  const begin = (given: Start) => {
    const { reference: name, kind, timeout, ago, expects, waitsThroughAbandoned } = given;
    const now = performance.now();
    const deadline = Math.max(now, now - Math.max(0, ago ?? 0) + timeout);
    // A reference without any check until the deadline gets one check.
    const lastEnd = deadline - now < 10 ? deadline + FINAL_CHECK_TIMEOUT : deadline;
    const controller = signals[given.signal];
    const wait: OpenWait = { ...given, deadline, lastEnd, attempts: 0, controller, hasEnded: false };
    delayEnd(wait);
    const options: WaitOptions = {
      timeout,
      onPoll: (poll) => onPoll(wait, poll),
      ...(controller ? { signal: controller.signal } : {}),
      ...(ago === undefined ? {} : { startedAt: Date.now() - ago }),
      ...(expects === undefined ? {} : { expect: { amount: expects } }),
      ...(waitsThroughAbandoned ? { finalStatuses: ['success', 'failed'] } : {}),
    };
    waits.add(wait);
    starts.push({ at: now, reference: name });
    const wasClosed = isClosed;
    const end = kind === 'wait' ? client.waitForFinalStatus(name, options) : read(wait, options);
    ends.push(
      end.then(
        (value) => onEnd(wait, value, undefined),
        (error: unknown) => onEnd(wait, undefined, error, wasClosed),
      ),
    );
  };

  const read = async (wait: OpenWait, options: WaitOptions) => {
    let last: Transaction | undefined;
    for await (const transaction of client.watch(wait.reference, options)) {
      if (transaction.status === last?.status) violate(`${last.status} twice in a watch`);
      if (last && isFinalFor(wait, last.status)) violate(`a change after ${last.status}`);
      last = transaction;
      if (wait.kind === 'glance') break;
    }
    return last;
  };

  const onEnd = (wait: OpenWait, value: Transaction | undefined, error: unknown, wasClosed = false) => {
    const now = performance.now();
    waits.delete(wait);
    wait.hasEnded = true;
    if (now > wait.lastEnd) violate(`${wait.reference} ended ${now - wait.lastEnd} ms too late`);
    if (isCalm && wait.hasResult !== undefined && now > wait.hasResult)
      violate(`${wait.reference} had its result at ${wait.hasResult}`);
    const result = value ? checkValue(wait, value) : checkError(wait, error, now);
    // The wait of a reader who left has ended without an event, or just before with one.
    if (!wasClosed && !(wait.kind === 'glance' && value)) seenResults.push(result);
  };

  const checkValue = (wait: OpenWait, { status, amount }: Transaction) => {
    const raw = status === 'unrecognised' ? 'on_hold' : status;
    if (!served.get(wait.reference)?.has(raw)) violate(`${wait.reference} was never ${raw}`);
    if (wait.kind !== 'glance' && !isFinalFor(wait, status))
      violate(`${wait.reference} ended with ${status}`);
    if (isFinalFor(wait, status) && amount !== (wait.expects ?? '25.50'))
      violate(`${amount} was not expected`);
    return 'final';
  };

  const checkTimeout = (wait: OpenWait, { attempts, lastStatus }: WaitTimeoutError, now: number) => {
    if (now < wait.deadline) violate(`a wait timed out ${wait.deadline - now} ms early`);
    if (attempts < wait.attempts) violate(`${attempts} attempts instead of ${wait.attempts}`);
    if (lastStatus && !served.get(wait.reference)?.has(lastStatus)) violate(`it was never ${lastStatus}`);
    return 'timeout';
  };

  const checkError = (wait: OpenWait, error: unknown, now: number) => {
    const { reference: name } = wait;
    if (error instanceof WaitTimeoutError) return checkTimeout(wait, error, now);
    if (error instanceof ClosedError) return isClosed ? 'closed' : violate(`${name} was closed`);
    if (error instanceof DOMException) return 'aborted';
    const code = error instanceof PaymentsError ? error.code : 'another';
    const missing = now - (missingSince.get(name) ?? now);
    const reasons: Record<string, boolean> = {
      transaction_mismatch: wait.expects === '1.00',
      permission_denied: forbidden.has(name),
      not_found: missing >= NOT_FOUND_GRACE,
    };
    if (!reasons[code]) violate(`${name} ended with ${code} after ${missing} ms of 404`);
    return 'failed';
  };

  const act = (
    each:
      | Start
      | { does: 'notify'; reference: string }
      | { does: 'abort'; signal: number }
      | { does: 'close' },
  ) => {
    if (each.does === 'start') begin(each);
    else if (each.does === 'notify') client.notify(each.reference);
    else if (each.does === 'abort') {
      const aborted = signals[each.signal];
      signals[each.signal] = new AbortController();
      endAll((wait) => wait.controller === aborted);
      aborted?.abort();
    } else {
      isClosed = true;
      endAll(() => true);
      client.close();
    }
  };

  const endAll = (isEnded: (wait: OpenWait) => boolean) => {
    for (const wait of waits) if (isEnded(wait)) wait.hasEnded = true;
  };

  const runStep = async (each: Step): Promise<void> => {
    switch (each.does) {
      case 'pass':
        await vi.advanceTimersByTimeAsync(each.time);
        break;
      case 'notifyOften':
        for (let count = 0; count < 40; count++) {
          client.notify(each.reference);
          await vi.advanceTimersByTimeAsync(50);
        }
        break;
      case 'setResponse':
        chosen.set(each.reference, each.response);
        break;
      case 'charge':
        client.chargeMobileMoney(charge).catch(() => {});
        break;
      case 'freeze':
        skip(each.time);
        break;
      case 'setClock':
        vi.setSystemTime(Date.now() + each.time);
        break;
      case 'inEvent':
        next = each;
        break;
      default:
        act(each);
    }
  };

  /** From now on every payment is paid. */
  const payAll = () => {
    next = undefined;
    for (let index = 0; index < REFERENCES; index++) chosen.set(`TXN-${index}`, 'success');
  };
  /** Returns the events of waits beside those of the ends that callers saw. */
  const listOtherReports = () => {
    const others = [...reported];
    for (const result of seenResults) {
      const index = others.indexOf(result);
      if (index < 0) violate(`no event of a wait that was ${result}`);
      else others.splice(index, 1);
    }
    return others;
  };
  const listeners = () => signals.flatMap(({ signal: each }) => getEventListeners(each, 'abort')).length;
  return { runStep, payAll, listeners, listOtherReports, sent, waits, ends, seenResults, violations };
}

const isFinalFor = ({ waitsThroughAbandoned }: Start, status = 'pending') =>
  isFinal(status) && !(waitsThroughAbandoned && status === 'abandoned');

const countRecent = (list: readonly Sent[], name: string | undefined, now: number) =>
  list.filter(({ at, reference: of }) => of === name && at > now - SECOND).length;

/** Whether this response ends the wait. */
const endsWith = (wait: Start, status: number | null, chosen: string | undefined) =>
  status === 403 || (status === 200 && isFinalFor(wait, chosen));

let skipped = 0;

/** Lets clocks of this process stand still. To be called once in a test. */
export function useSkippedTime(): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + skipped);
}

function skipTime(time: number): void {
  skipped += time;
  vi.setSystemTime(Date.now() + time);
}
