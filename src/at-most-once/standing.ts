import type { OperationName } from '../contract/operation.ts';
import type { Journal, Standing } from '../journal/journal.ts';
import type { Attempt } from '../journal/record.ts';
import { sleep } from '../transport/deadline.ts';
import { fromJournal } from './doubt.ts';
import { type Moment, millisecondsSince, rightNow } from './moment.ts';

/** How often the journal is asked whether another call has ended, in milliseconds. */
const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 500;

/** Where a key stands once no other call is charging under it. */
export type Settled = Exclude<Standing, { state: 'in_progress' }>;

/**
 * Claims the key, or says why not. While another call is charging under it, its end is waited for: until the journal, or
 * our own clock, says that nobody was heard of for a whole lease.
 */
export async function standingOnceSettled(
  journal: Journal,
  key: string,
  attempt: Attempt,
  { signal, onWaiting }: { signal: AbortSignal; onWaiting: () => void },
): Promise<{ standing: Settled; asked: Moment }> {
  const operation: OperationName = attempt.operation;
  let other: { version: string; since: Moment } | undefined;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE)) {
    signal.throwIfAborted();
    const asked = rightNow();
    const standing = await fromJournal(operation, () => journal.begin(key, attempt));
    if (standing.state !== 'in_progress') return { standing, asked };

    if (!other) onWaiting();
    if (other?.version !== standing.version) other = { version: standing.version, since: asked };
    // The journal's clock may have been set back.
    else if (millisecondsSince(other.since) > journal.lease)
      return { standing: { state: 'unknown', reference: undefined }, asked };
    await sleep(pause, signal);
  }
}
