/** The journal of a process, with the points at which the process can be killed. */

import { getRecords } from '../../../src/journal/core.ts';
import { parseStoreKey } from '../../../src/journal/names.ts';
import { isUnresolved, referenceOf } from '../../../src/ledger/payment.ts';
import { type LedgerRecord, parseLedgerRecord } from '../../../src/ledger/record.ts';
import { createJournal, type JournalStore, memoryJournal } from '../../../src/stores/index.ts';
import type { OpenJournal } from '../databases/database.ts';
import { loadDatabase } from '../databases/load-database.ts';
import { listFacts, type ShopEvent } from './log.ts';
import { type KillPlan, type KillPoint, LEASE, type Settings } from './plan.ts';

/** Kills this process at the point that its plan names. */
export class KillSwitch {
  readonly #plan: KillPlan;
  #reached = 0;

  constructor(plan: KillPlan) {
    this.#plan = plan;
  }

  /** Does not return if the plan names this point. */
  reach(point: KillPoint): void {
    if (this.#isDue(point)) process.kill(process.pid, 'SIGKILL');
  }

  /** Starts the work. If the plan names this point, it kills the process a few turns of the event loop later. */
  async during<T>(point: KillPoint, work: () => Promise<T>): Promise<T> {
    const isDue = this.#isDue(point);
    const working = work();
    if (!isDue || this.#plan.kind !== 'at') return working;
    working.catch(() => {});
    for (let turn = 0; turn < this.#plan.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.kill(process.pid, 'SIGKILL');
    return working;
  }

  #isDue(point: KillPoint): boolean {
    return this.#plan.kind === 'at' && this.#plan.point === point && ++this.#reached === this.#plan.nth;
  }
}

/** Opens a process's handle on the shared journal. */
export async function openJournal(
  { kind, place, control }: Pick<Settings, 'kind' | 'place' | 'control'>,
  watch: (store: JournalStore) => JournalStore = (store) => store,
): Promise<OpenJournal> {
  const opened =
    control === 'ends with its process'
      ? { journal: memoryJournal({ lease: LEASE }), close: async () => {} }
      : await (await loadDatabase(kind)).open(place, { lease: LEASE });
  const { store } = getRecords(opened.journal);
  return { ...opened, journal: createJournal(watch(breakStore(store, control)), { lease: LEASE }) };
}

/** Returns the store with the kill points around each write. It logs what the store has confirmed. */
export function watchStore(
  store: JournalStore,
  killSwitch: KillSwitch,
  log: (event: ShopEvent) => void,
): JournalStore {
  const around = async <T>(write: () => T | Promise<T>): Promise<T> => {
    killSwitch.reach('before write');
    const written = await killSwitch.during('during write', async () => await write());
    killSwitch.reach('after write');
    return written;
  };
  const confirm = (key: string, text: string) => {
    const record = parseRecord(text);
    const facts = record ? listFacts(record) : [];
    if (facts.length > 0) log({ event: 'written', key: parseStoreKey(key)?.id ?? key, facts });
  };
  const { claimDue, writeAll } = store;
  return {
    ...store,
    write: (key, change) =>
      around(async () => {
        const isWritten = await store.write(key, change);
        if (isWritten) confirm(key, change.text);
        return isWritten;
      }),
    ...(writeAll && {
      writeAll: (writes) =>
        around(async () => {
          const written = await writeAll(writes);
          for (const [index, { key, change }] of writes.entries())
            if (written[index]) confirm(key, change.text);
          return written;
        }),
    }),
    ...(claimDue && { claimDue: (claim) => around(() => claimDue(claim)) }),
  };
}

const parseRecord = (text: string): LedgerRecord | undefined => parseLedgerRecord(JSON.parse(text));

/** Makes an obvious mistake: takes an expired lease as proof that nothing was sent, or claims nothing and ignores versions. */
function breakStore(store: JournalStore, control: Settings['control']): JournalStore {
  const { claimDue, writeAll: _, ...rest } = store;
  const read = async (key: string) => {
    const read = await store.read(key);
    const record = read.record && parseRecord(read.record.text);
    if (!read.record || !record) return read;
    const payments = record.payments.map((payment) =>
      isUnresolved(payment, read.now) && referenceOf(payment) === undefined
        ? { ...payment, charge: { is: 'none', why: 'not_sent' } }
        : payment,
    );
    return { ...read, record: { ...read.record, text: JSON.stringify({ ...record, payments }) } };
  };
  if (control === 'frees expired claims') return { ...store, read };
  if (control !== 'ignores versions') return store;
  return {
    ...rest,
    ...(claimDue && { claimDue: (claim) => claimDue({ ...claim, lease: 0 }) }),
    async write(key, change) {
      const { record } = await store.read(key);
      return await store.write(key, { ...change, expected: record?.version ?? null });
    },
  };
}
