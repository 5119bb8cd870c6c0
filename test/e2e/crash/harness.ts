import { setTimeout as sleep } from 'node:timers/promises';
import { getRecords } from '../../../src/journal/core.ts';
import type { Journal, JournalEntry } from '../../../src/stores/index.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import { loadDatabase } from '../databases/load-database.ts';
import { openJournal } from './journal.ts';
import { countEvents, type Evidence, findMissing, judge, listUnsettled } from './judge.ts';
import { listFacts, readLog } from './log.ts';
import type { Settings } from './plan.ts';
import { Processes } from './processes.ts';
import { startService } from './service.ts';

export interface RunOptions {
  /** A file of `test/e2e/databases/kinds`, without its end. */
  readonly kind: string;
  readonly kills: number;
  readonly seed: number;
  /** Processes at a time. */
  readonly workers?: number | undefined;
  /** The judge must then find what is wrong. */
  readonly control?: Settings['control'];
  /** Ends the run and every process of it. */
  readonly signal?: AbortSignal | undefined;
}

export interface RunResult {
  readonly name: string;
  readonly violations: readonly string[];
  /** How often what happened. */
  readonly counts: Readonly<Record<string, number>>;
  readonly killsAt: ReadonlyMap<string, number>;
  readonly seconds: number;
}

/** What the judge must find in a run of each control. */
export const FINDING = /(?:charged|made) \d+ (?:times|charges)/;

/** What is left is swept within seconds, but for a machine that is very busy. In milliseconds. */
const MAX_SETTLING = 120_000;

/** So many more processes are killed until everything has happened, at most. */
const MAX_MORE_KILLS = 100;

/**
 * Processes of a shop charge, sweep and are killed. Then what they logged, and the journal, are compared with the ledger of the
 * service.
 */
export async function runCrashProof(options: RunOptions): Promise<RunResult> {
  const { kind, seed, workers = 3, control, signal } = options;
  const startedAt = performance.now();
  const database = await loadDatabase(kind);
  const running = await database.start();
  const { place } = running;
  const temp = createTempFolder();
  const service = await startService({
    seed,
    onRequest: (point, generation) => processes.onRequest(point, generation),
  });
  const settings = { seed, kind, control, place, baseUrl: service.baseUrl, folder: temp.path };
  const processes = new Processes(settings);
  const onAbort = () => processes.killAll();
  signal?.addEventListener('abort', onAbort);
  try {
    await database.prepare(place);
    const { journal, close } = await openJournal(settings);
    try {
      const gather = async (): Promise<Evidence> => ({
        charges: service.charges,
        events: readLog(temp.path),
        ...(await readJournal(journal)),
      });
      await runProcesses(processes, options, workers, gather);
      await service.stop();
      const evidence = await gather();
      return {
        name: control === undefined ? kind : `${kind}, ${control}`,
        violations: judge(evidence, await database.dump(place)),
        counts: { kills: processes.killed, ...countEvents(evidence) },
        killsAt: processes.killsAt,
        seconds: (performance.now() - startedAt) / 1000,
      };
    } finally {
      await close();
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    processes.killAll();
    await service.stop();
    await running.stop();
    temp.remove();
  }
}

async function runProcesses(
  processes: Processes,
  { kills, control, signal }: RunOptions,
  workers: number,
  gather: () => Promise<Evidence>,
): Promise<void> {
  let isSettling = false;
  let isStopping = false;
  const ended = Promise.all(
    Array.from({ length: workers }, async (_, slot) => {
      while (!isStopping && !signal?.aborted) await processes.run(slot, isSettling);
    }),
  );
  const wait = (time: number) => Promise.race([sleep(time), ended]);
  // A busy machine needs longer until everything has happened that a run must have. A control need not have it.
  const isSeen = async () => control !== undefined || findMissing(countEvents(await gather())).length === 0;
  while (!signal?.aborted && (processes.killed < kills || !(await isSeen()))) {
    if (processes.killed > kills + MAX_MORE_KILLS) break;
    await wait(200);
  }
  processes.isKilling = false;
  await wait(1_000);
  isSettling = true;
  // What was begun last ends, and is swept. Of what a control has broken, nobody hears.
  const settledBy = performance.now() + (control === undefined ? MAX_SETTLING : 5_000);
  while (!signal?.aborted && performance.now() < settledBy) {
    processes.send('settle');
    await wait(500);
    const evidence = await gather();
    const settled = evidence.events.flatMap(({ event, generation }) =>
      event === 'settled' ? generation : [],
    );
    // A call that is still under way can begin a payment.
    const isCalling = processes.running.some((generation) => !settled.includes(generation));
    if (!isCalling && listUnsettled(evidence).length === 0) break;
  }
  isStopping = true;
  const stopper = setInterval(() => processes.send('stop'), 500);
  processes.send('stop');
  await ended.finally(() => clearInterval(stopper));
  signal?.throwIfAborted();
}

async function readJournal(journal: Journal) {
  const entries: JournalEntry[] = [];
  for await (const entry of journal.list()) entries.push(entry);
  const facts = new Map<string, string[]>();
  for await (const { found } of getRecords(journal).list('createdAt'))
    if (found) facts.set(found.name.id, listFacts(found.record));
  return { entries, facts };
}
