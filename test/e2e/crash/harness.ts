import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Crew } from './crew.ts';
import { openJournal, prepareJournal } from './journals.ts';
import type { JournalKind } from './kinds.ts';
import { type Note, readNotes } from './notes.ts';
import { type Settled, settleDoubts } from './person.ts';
import { type CrashService, startCrashService } from './service.ts';
import { doubleCharges, type Endings, judge } from './verdict.ts';

export interface RunOptions {
  kind: JournalKind;
  /** The URL of a database; SQLite gets a file of its own. */
  url?: string | undefined;
  keys: number;
  workers: number;
  /** How many workers are killed before they are left alone. */
  kills: number;
  seed: number;
  /** Whether somebody settles keys that are in doubt while the workers run. */
  person?: boolean | undefined;
  lease?: number | undefined;
  timeout?: number | undefined;
  /** Ends the run and every process of it. */
  signal?: AbortSignal | undefined;
}

/** What a run came to. */
export interface Outcome {
  kind: JournalKind;
  keys: number;
  kills: number;
  aimed: number;
  /** By the point at which each of those that were aimed hit. */
  killsAt: ReadonlyMap<string, number>;
  heldUp: number;
  restarts: number;
  requests: number;
  charges: number;
  /** Calls that found another process charging under their key. */
  waited: number;
  /** Results that came from the journal, with nothing sent. */
  answered: number;
  conflicts: number;
  /** Without a journal that outlives a process there is nothing to read. */
  endings: Endings | undefined;
  settled: Settled | undefined;
  doubled: number;
  doubledAfterCrash: number;
  untruths: readonly string[];
  seconds: number;
}

/** Charges every key by workers that are killed and started again, and holds what they say against the service's books. */
export async function runCrashProof(options: RunOptions): Promise<Outcome> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'payments-crashproof-'));
  const place = options.url ?? join(folder, 'journal.db');
  const crew = new Crew(options, folder);
  const service = await startCrashService(options.seed, (moment, generation) => crew.saw(moment, generation));
  try {
    await prepareJournal(options.kind, place);
    const settled = await atWork(crew, service, { ...options, folder, place });
    await service.stop();
    const notes = readNotes(folder);
    const doubled = doubleCharges({ keys: options.keys, service });
    return {
      kind: options.kind,
      keys: options.keys,
      ...crew.counts,
      requests: [...service.faults.values()].reduce((sum, count) => sum + count, 0),
      charges: service.charges.length,
      ...countsIn(notes, service),
      ...(await verdict({ ...options, place }, service, notes)),
      settled,
      doubled: doubled.length,
      doubledAfterCrash: doubled.filter(({ afterCrash }) => afterCrash).length,
      seconds: (performance.now() - began) / 1000,
    };
  } finally {
    crew.dismiss();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Site = RunOptions & { folder: string; place: string };

/** Every slot starts workers until one has come to the end of its orders. */
async function atWork(crew: Crew, service: CrashService, site: Site): Promise<Settled | undefined> {
  const { seed, kind, keys, workers, folder, place, person = false, lease = 400, timeout = 600 } = site;
  const common = {
    seed,
    kind,
    place,
    baseUrl: service.baseUrl,
    folder,
    keys,
    workers,
    lease,
    timeout,
    person,
  };
  const ended = new AbortController();
  const desk = person ? personAt(service, site, ended.signal) : undefined;
  const slots = Array.from({ length: workers }, async (_, slot) => {
    while (!site.signal?.aborted && (await crew.work({ ...common, slot })) === 'killed');
  });
  try {
    await Promise.race([Promise.all(slots), desk?.then(() => Promise.all(slots)) ?? Promise.all(slots)]);
  } finally {
    ended.abort();
  }
  site.signal?.throwIfAborted();
  return desk;
}

async function personAt(service: CrashService, site: Site, signal: AbortSignal): Promise<Settled> {
  const { seed, kind, place, folder, lease = 400 } = site;
  if (kind === 'none') throw new Error('without a journal there is nothing to settle');
  const { journal, close } = await openJournal(kind, place, { lease, other: false, aroundCommit });
  try {
    return await settleDoubts({ seed, journal, service, folder, lease }, signal);
  } finally {
    await close();
  }
}

async function verdict(site: RunOptions & { place: string }, service: CrashService, notes: readonly Note[]) {
  const { kind, keys, place, lease = 400 } = site;
  if (kind === 'none' || kind === 'memory') return { endings: undefined, untruths: [] };
  // Whatever the last worker that died had claimed is then in doubt.
  await sleep(1.5 * lease);
  const { journal, close } = await openJournal(kind, place, { lease, other: true, aroundCommit });
  try {
    const { untruths, ...endings } = await judge(journal, { keys, service, notes });
    return { endings, untruths };
  } finally {
    await close();
  }
}

const aroundCommit = (commit: () => void) => commit();

function countsIn(notes: readonly Note[], service: CrashService) {
  const charged = new Set(service.charges.map(({ call }) => call));
  return {
    waited: notes.filter(({ waited }) => waited).length,
    answered: notes.filter(({ ending, call }) => ending === 'completed' && !charged.has(call)).length,
    conflicts: notes.filter(({ ending }) => ending === 'conflict').length,
  };
}
