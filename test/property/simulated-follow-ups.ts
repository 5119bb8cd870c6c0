import { createFollowUps } from '../../src/follow-ups/index.ts';
import { PaymentsClient } from '../../src/index.ts';
import { createJournal, type JournalStore, memoryStore } from '../../src/stores/index.ts';
import { silentLogger } from '../helpers/follow-ups.ts';
import { API_KEY, charge, successBodies } from '../helpers/service.ts';
import type { FollowUpCommand } from './follow-up-interleavings.ts';

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));
const never = () => new Promise<never>(() => {});

/** Ends the work of a process that was killed, so that no timer of it is left. Its database hangs: nothing is recorded. */
const KILLED = new Error('killed');

/** A payment, as the service has it. */
interface Payment {
  readonly key: string;
  readonly reference: string;
  readonly status: 'success' | 'failed' | 'abandoned' | 'pending';
  readonly finalAt: number;
  readonly deadline: number;
  /** Whether the service returns another amount until then; `Infinity`: for ever. */
  readonly wrongUntil: number;
  /** Whether the response of the charge was lost. */
  readonly isLost: boolean;
  resolvedAt: number | undefined;
}

interface SimulatedProcess {
  isDead: boolean;
  readonly stop: AbortController;
  readonly running: Promise<unknown>;
  kill(): void;
}

/** The schedule of every client, which a test can wait for. */
const polling = { initialDelay: 8_000, minDelay: 3_000, maxDelay: 15_000, timeout: 60_000 };
const BASE_URL = 'https://payments.example/api/v1';

/** Simulates processes that charge and follow payments, with their database, the service and a person. */
export function simulateFollowUps() {
  const store = memoryStore();
  const payments: Payment[] = [];
  const processes: SimulatedProcess[] = [];
  const gets: { reference: string; at: number }[] = [];
  const finals: { key: string; status: string; at: number }[] = [];
  const attentions: { key: string; reason: string }[] = [];
  const violations: string[] = [];
  /** What can make work be done again: each allows for one more GET and one more call of each handler. */
  const disturbances = { kills: 0, faults: 0, throws: 0, notifications: 0, stops: 0 };

  const find = (reference: string) => payments.find((payment) => payment.reference === reference);
  const isFinal = (payment: Payment) => payment.status !== 'pending' && Date.now() >= payment.finalAt;

  const respond = (reference: string): Response => {
    const payment = find(reference);
    if (!payment) return Response.json({}, { status: 404 });
    const status = isFinal(payment) ? payment.status : 'pending';
    const amount = Date.now() < payment.wrongUntil ? '2.55' : '25.50';
    return Response.json(successBodies.verify({ reference, status, amount }));
  };

  const connect = (journalStore: JournalStore, fetch: typeof globalThis.fetch) => {
    const journal = createJournal(journalStore);
    const options = {
      apiKey: API_KEY,
      baseUrl: BASE_URL,
      maxRetries: 0,
      journal,
      fetch,
      polling,
      timeout: 20_000,
      logger: silentLogger,
    };
    return { journal, client: new PaymentsClient(options) };
  };

  const chargeOnce = async ({ outcome, finalAfter, wrongFor }: FollowUpCommand & { does: 'charge' }) => {
    const number = payments.length + 1;
    const reference = `TXN-${number}`;
    const isLost = outcome === 'lost';
    const status = outcome === 'lost' ? 'success' : outcome;
    const now = Date.now();
    const payment = { key: `order-${number}`, reference, status, isLost, resolvedAt: undefined };
    const deadline = now + polling.timeout;
    payments.push({ ...payment, finalAt: now + finalAfter, deadline, wrongUntil: now + wrongFor });
    const { client } = connect(store, async () => {
      if (isLost) throw new TypeError('fetch failed');
      return Response.json(successBodies.chargeMobileMoney({ reference }));
    });
    await client.chargeMobileMoney(charge, { idempotencyKey: payment.key }).catch(() => {});
  };

  const startProcess = (command: FollowUpCommand & { does: 'start' }) => {
    const stop = new AbortController();
    let throwing = [...command.throws];
    const mayThrow = () => {
      const [next = false, ...rest] = throwing;
      throwing = rest;
      if (!next) return;
      disturbances.throws += 1;
      throw new Error('the shop is away');
    };
    const process: SimulatedProcess = {
      isDead: false,
      stop,
      running: Promise.resolve(),
      kill() {
        if (process.isDead) return;
        process.isDead = true;
        disturbances.kills += 1;
        // Its timers end.
        client.close();
      },
    };
    const broken = breakStore(store, command, process, () => {
      disturbances.faults += 1;
    });
    const { client, journal } = connect(broken, async (_, init) => {
      if (process.isDead) throw KILLED;
      const reference = String(_).split('/').at(-1) ?? '';
      gets.push({ reference, at: Date.now() });
      init?.signal?.throwIfAborted();
      await sleep(command.latency);
      if (process.isDead) throw KILLED;
      return respond(reference);
    });
    const { run } = createFollowUps({
      payments: client,
      journal,
      async onFinal({ key, transaction: { status, reference } }) {
        if (process.isDead) throw KILLED;
        const payment = find(reference);
        if (!payment || payment.key !== key || !isFinal(payment) || payment.status !== status)
          violations.push(`${key} was delivered as ${status}`);
        if (payment && status === 'success' && Date.now() < payment.wrongUntil)
          violations.push(`${key} was delivered with another amount`);
        finals.push({ key, status, at: Date.now() });
        await sleep(command.handlerTime);
        if (process.isDead) throw KILLED;
        mayThrow();
      },
      async onAttention({ key, reason }) {
        if (process.isDead) throw KILLED;
        attentions.push({ key, reason });
        mayThrow();
      },
    });
    const running = run({ signal: stop.signal }).catch(() => {});
    processes.push(Object.assign(process, { running }));
    if (command.stopAfter === null) return;
    setTimeout(() => {
      // A check in flight is cut off, and is due at once.
      disturbances.stops += 1;
      stop.abort();
    }, command.stopAfter);
  };

  const notify = async (index: number) => {
    const payment = payments[index % Math.max(1, payments.length)];
    if (!payment) return;
    disturbances.notifications += 1;
    const { client, journal } = connect(store, never);
    const handlers = { onFinal() {}, onAttention() {} };
    await createFollowUps({ payments: client, journal, ...handlers }).notify(payment.reference);
  };

  const resolve = async (index: number) => {
    const lost = payments.filter(({ isLost, resolvedAt }) => isLost && resolvedAt === undefined);
    const payment = lost[index % Math.max(1, lost.length)];
    if (!payment) return;
    const { journal } = connect(store, never);
    const { key, reference } = payment;
    await journal.resolve(key, { reference }, { by: 'ama', reason: 'found it' }).then(
      () => {
        payment.resolvedAt = Date.now();
      },
      () => {},
    );
  };

  const endAll = async () => {
    for (const { stop } of processes) stop.abort();
    await Promise.all(processes.map(({ running }) => running));
  };

  const countCalls = (key: string) => finals.filter((call) => call.key === key).length;
  const countReports = (key: string, wanted: string) =>
    attentions.filter(({ key: own, reason }) => own === key && reason === wanted).length;

  /** Returns what must have been called for a payment by now. */
  const getExpectedCall = ({ status, isLost, resolvedAt, wrongUntil }: Payment): string => {
    if (isLost && resolvedAt === undefined) return 'unresolved';
    // One that ended without money is told, of whatever amount it was.
    const hasEnded = status === 'failed' || status === 'abandoned';
    if (wrongUntil > Date.now() && !hasEnded) return 'mismatch';
    return status === 'pending' ? 'overdue' : 'onFinal';
  };

  const findForgotten = (payment: Payment): string[] => {
    const { key } = payment;
    const expected = getExpectedCall(payment);
    const count = expected === 'onFinal' ? countCalls(key) : countReports(key, expected);
    return count > 0 ? [] : [`${key} was forgotten: ${expected} was not called`];
  };

  const findRepeated = ({ key, reference, deadline }: Payment): string[] => {
    const { kills, faults, throws, notifications, stops } = disturbances;
    const most = 1 + kills + faults + throws;
    const reasons = ['unresolved', 'overdue', 'mismatch', 'gone'];
    const times = gets.filter((get) => get.reference === reference).map(({ at }) => at);
    // The check at the deadline can come sooner than `minDelay`, if a process was late with the one before.
    const early = times.filter((at, index) => {
      const before = times[index - 1];
      return before !== undefined && at - before < 2_600 && !(before < deadline && at >= deadline);
    }).length;
    return [
      ...reasons
        .filter((reason) => countReports(key, reason) > most)
        .map((reason) => `${key}: ${reason} again`),
      ...(countCalls(key) > most ? [`${key} was delivered ${countCalls(key)} times`] : []),
      ...(early > kills + faults + notifications + stops
        ? [`${key} was checked ${early} times too early`]
        : []),
    ];
  };

  /** Returns what is wrong, once a process without faults has run for long enough. */
  const judge = () => [
    ...violations,
    ...payments.flatMap((payment) => [...findForgotten(payment), ...findRepeated(payment)]),
  ];

  return {
    chargeOnce,
    startProcess,
    notify,
    resolve,
    endAll,
    judge,
    processes,
    payments,
    finals,
    attentions,
    gets,
    disturbances,
  };
}

/** A database that fails at some steps, before or after it has done them, and at one of which the process is killed. */
function breakStore(
  store: JournalStore,
  { faults, death }: FollowUpCommand & { does: 'start' },
  process: Pick<SimulatedProcess, 'isDead' | 'kill'>,
  onFault: () => void,
): JournalStore {
  const remaining = [...faults];
  let steps = 0;
  const fail = () => {
    onFault();
    throw new Error('ECONNRESET');
  };
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    const fault = remaining.shift();
    const dies = death?.step === steps++;
    if (dies && death.side === 'before') process.kill();
    if (process.isDead) return never();
    if (fault === 'before') fail();
    const result = await work();
    if (dies) process.kill();
    if (process.isDead) return never();
    if (fault === 'after') fail();
    return result;
  };
  return {
    read: (key) => step(() => store.read(key)),
    write: (key, change) => step(() => store.write(key, change)),
    list: (query) => step(async () => store.list?.(query) ?? []),
    claimDue: (claim) => step(async () => store.claimDue?.(claim) ?? { records: [], now: 0 }),
    countDue: (query) => step(async () => store.countDue?.(query) ?? { due: 0, nextIn: null }),
  };
}
