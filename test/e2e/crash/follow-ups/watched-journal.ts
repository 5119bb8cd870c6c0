import type { Journal, JournalStore } from '../../../../src/journal/index.ts';
import { parseStoreKey } from '../../../../src/journal/names.ts';
import type { KillSwitch } from '../kill-switch.ts';
import { replaceStore, watchStore } from '../watched-store.ts';
import type { SweepKillPoint } from './kill-plan.ts';
import type { controls } from './settings.ts';
import type { SweepEvent } from './sweep-log.ts';

interface Watch {
  readonly killSwitch: KillSwitch<SweepKillPoint>;
  readonly log: (event: SweepEvent) => void;
  readonly control: (typeof controls)[number] | undefined;
}

const toKey = (storeKey: string) => parseStoreKey(storeKey)?.id ?? storeKey;

/** Returns the journal with the kill points around each step of a follow-up, and logs each step. */
export function watchFollowUps(journal: Journal, { killSwitch, log, control }: Watch): Journal {
  return replaceStore(journal, (store) => {
    const watched = watchStore(breakClaims(store, control), {
      killSwitch,
      onWriting({ key, step }) {
        if (step === 'notify') log({ event: 'notifying', key: toKey(key) });
      },
      onWritten({ key, step, change }, isWritten) {
        if (step === 'notify') log({ event: isWritten ? 'notified' : 'not notified', key: toKey(key) });
        else if (isWritten)
          log({ event: 'recorded', key: toKey(key), step, dueAt: change.index?.dueAt ?? null });
      },
    });
    return {
      ...watched,
      async claimDue(claim) {
        const from = Date.now();
        killSwitch.reach('before claim');
        const claimed = await killSwitch.during('during claim', async () => await watched.claimDue?.(claim));
        if (!claimed) throw new Error('The store has no claimDue.');
        const { records } = claimed;
        if (records.length > 0) {
          log({ event: 'claimed', from, lease: claim.lease, keys: records.map(({ key }) => toKey(key)) });
          killSwitch.reach('after claim');
        }
        return claimed;
      },
    };
  });
}

/** Takes the claim away: a payment that is claimed stays due, and a step is recorded over another process's. */
function breakClaims(store: JournalStore, control: Watch['control']): JournalStore {
  const { claimDue, writeAll: _, ...rest } = store;
  if (control === undefined || !claimDue) return store;
  const withoutLease: JournalStore = { ...store, claimDue: (claim) => claimDue({ ...claim, lease: 0 }) };
  if (control === 'no lease') return withoutLease;
  return {
    ...rest,
    claimDue: (claim) => claimDue({ ...claim, lease: 0 }),
    async write(key, change) {
      const { record } = await store.read(key);
      return await store.write(key, { ...change, expected: record?.version ?? null });
    },
  };
}
