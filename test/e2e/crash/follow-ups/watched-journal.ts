import { getJournalCore } from '../../../../src/journal/core.ts';
import type { FollowUpRecords } from '../../../../src/journal/follow-up-records.ts';
import type { FollowUp, Journal } from '../../../../src/journal/index.ts';
import { changed } from '../../../helpers/journals.ts';
import type { KillSwitch } from '../kill-switch.ts';
import type { Step, SweepKillPoint } from './kill-plan.ts';
import type { controls } from './settings.ts';
import type { SweepEvent } from './sweep-log.ts';

interface Watch {
  readonly killSwitch: KillSwitch<SweepKillPoint>;
  readonly log: (event: SweepEvent) => void;
  readonly control: (typeof controls)[number] | undefined;
}

/** Returns the journal with the kill points around each step of a follow-up, and logs each step. */
export function watchFollowUps(journal: Journal, { killSwitch, log, control }: Watch): Journal {
  const records = breakClaims(getJournalCore(journal).followUps, control);
  const followUps: FollowUpRecords = {
    ...records,
    async claimDue(claim) {
      const from = Date.now();
      killSwitch.reach('before claim');
      const claimed = await killSwitch.during('during claim', () => records.claimDue(claim));
      if (claimed.length > 0) {
        log({ event: 'claimed', from, lease: claim.lease, keys: claimed.map(({ key }) => key) });
        killSwitch.reach('after claim');
      }
      return claimed;
    },
    async update(record, followUp, dueIn) {
      const step = nameStep(record.record.followUp, followUp);
      killSwitch.reach(`before ${step}`);
      const updated = await killSwitch.during(`during ${step}`, () =>
        records.update(record, followUp, dueIn),
      );
      const event = updated ? 'recorded' : 'lost';
      log({ event, key: record.key, step, dueIn });
      killSwitch.reach(`after ${step}`);
      return updated;
    },
    async notify(record, dueIn) {
      log({ event: 'notifying', key: record.key });
      const isNotified = await records.notify(record, dueIn);
      log({ event: isNotified ? 'notified' : 'not notified', key: record.key });
      return isNotified;
    },
  };
  return changed(journal, { followUps });
}

/** Names what a write to the journal records. */
function nameStep(before: FollowUp | undefined, after: FollowUp): Step {
  const { checks = 0, reported = [], failures = 0 } = before ?? {};
  if (after.ended && !before?.ended) return 'end';
  // After `abandoned`, checks go on.
  if (after.delivered !== before?.delivered) return 'end';
  if (after.final && !before?.final) return 'final';
  if (after.reported.length > reported.length) return 'attention';
  if ((after.failures ?? 0) > failures) return 'failure';
  return after.checks > checks ? 'check' : 'heartbeat';
}

/** Takes the claim away: a payment that is claimed stays due, and a step is recorded over another process's. */
function breakClaims(records: FollowUpRecords, control: Watch['control']): FollowUpRecords {
  if (control === undefined) return records;
  const withoutLease: FollowUpRecords = {
    ...records,
    claimDue: (claim) => records.claimDue({ ...claim, lease: 0 }),
  };
  if (control === 'no lease') return withoutLease;
  return {
    ...withoutLease,
    async update(record, followUp, dueIn) {
      const { reference } = record.entry;
      const [current] = reference === undefined ? [] : await records.find(reference);
      return records.update({ ...record, version: current?.version ?? record.version }, followUp, dueIn);
    },
  };
}
