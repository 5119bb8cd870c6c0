import type { Journal, Standing } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import type { Attempt } from '../journal/record.ts';
import { Aborted, sleep, TimedOut, within } from '../transport/deadline.ts';
import type { Subject } from './doubt.ts';
import { standingFrom, type Unreadable } from './from-journal.ts';
import { type Moment, millisecondsSince, rightNow } from './moment.ts';
import { PATIENCE, PATIENCE_AFTER_ABORT } from './patience.ts';

/** How often the journal is asked whether another call has ended, in milliseconds. */
const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 500;

/** Where a key stands once no other call is charging under it. */
export type Settled = Exclude<Standing, { state: 'in_progress' }> | Unreadable;

/**
 * Claims the key, or says why not. While another call is charging under it, its end is waited for: until the journal, or
 * our own clock, says that nobody was heard of for a whole lease.
 */
export async function standingOnceSettled(
  journal: Journal,
  key: string,
  attempt: Attempt,
  { subject, signal, onWaiting }: { subject: Subject; signal: AbortSignal; onWaiting: () => void },
): Promise<{ standing: Settled; asked: Moment }> {
  let other: { version: string; since: Moment } | undefined;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE)) {
    signal.throwIfAborted();
    const asked = rightNow();
    const standing = await standingNow(journal, key, attempt, { subject, signal });
    if (standing.state !== 'in_progress') return { standing, asked };

    if (!other) onWaiting();
    if (other?.version !== standing.version) other = { version: standing.version, since: asked };
    // The journal's clock may stand still, or have been set back.
    else if (millisecondsSince(other.since) > journal.lease)
      return { standing: { state: 'unknown', reference: undefined }, asked };
    await sleep(pause, signal);
  }
}

/** Asks once. A claim that comes too late for the caller is given back. */
async function standingNow(
  journal: Journal,
  key: string,
  attempt: Attempt,
  { subject, signal }: { subject: Subject; signal: AbortSignal },
): Promise<Standing | Unreadable> {
  const { operation } = attempt;
  const standing = standingFrom(subject, async () => journal.begin(key, attempt));
  try {
    return await within(PATIENCE, signal, () => standing);
  } catch (fault) {
    if (!(fault instanceof Aborted || fault instanceof TimedOut)) throw fault;
    const givenBack = giveBack(journal, standing);
    if (fault instanceof TimedOut) {
      const message = `${operation}: The journal did not answer within ${PATIENCE} ms. Nothing was sent.`;
      throw new JournalError(message, { operation, retryable: true });
    }
    await within(PATIENCE_AFTER_ABORT, undefined, () => givenBack).catch(() => {});
    throw fault.reason;
  }
}

/** Nothing was sent under the claim, and nothing will be. Where that cannot be recorded, the key stays in doubt. */
async function giveBack(journal: Journal, standing: Promise<Standing | Unreadable>): Promise<void> {
  try {
    const late = await standing;
    if (late.state === 'begun') await journal.end(late.claim, { state: 'not_sent' });
  } catch {}
}
