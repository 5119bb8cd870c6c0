/** What follow-ups and orders share: sweeps over the records of one kind, in any number of processes. */

import * as z from 'zod/mini';
import { findReferences } from '../api/find-references.ts';
import type { PaymentsClient } from '../client.ts';
import { CLIENT_ACCESS, type ClientAccess } from '../client-access.ts';
import { ConfigurationError } from '../errors.ts';
import { getRecords } from '../journal/core.ts';
import type { Journal } from '../journal/journal.ts';
import { findOwner } from '../journal/references.ts';
import { MAX_PAUSE } from '../ledger/check.ts';
import { getDueAt } from '../ledger/order.ts';
import { notify } from '../ledger/outcome.ts';
import { type OptionsShape, optionalSignal, parseOptions } from '../parse-options.ts';
import { isObject, orUndefined } from '../support/untrusted.ts';
import { runSweeps, Sleeps } from './run.ts';
import { type SweepContext, summarizeError } from './step.ts';
import { type SweepOptions, type SweepResult, sweep, validateSweepOptions } from './sweep.ts';

/** What {@link createSweeper} takes. */
export interface SweeperOptions extends Pick<SweepContext, 'kind' | 'findHandler'> {
  readonly payments: PaymentsClient;
  /** The journal of that client. */
  readonly journal: Journal;
}

export interface Sweeper {
  sweep(options?: SweepOptions): Promise<SweepResult>;
  run(options?: RunOptions): Promise<void>;
  notify(referenceOrBody: unknown): Promise<void>;
}

/** The options of `run`. */
export interface RunOptions {
  /** Ends the run, which resolves then. @default none: it ends with the client */
  signal?: AbortSignal | undefined;
}

/** @throws {ConfigurationError} if the client or the journal cannot work. */
export function createSweeper({ payments, journal, ...options }: SweeperOptions): Sweeper {
  const access = readAccess(payments, journal);
  const context: SweepContext = {
    ...options,
    access,
    records: getRecords(journal),
    heldKeys: new Set(),
    slowSteps: new Set(),
    said: { foreign: false },
  };
  const sleeps = new Sleeps();
  const { calls } = access;
  const notifyOne = async (reference: string) => {
    const dueIn = await notifyRecord(context, reference);
    if (dueIn !== null) sleeps.wakeIn(dueIn);
  };
  return {
    sweep: (sweepOptions = {}) =>
      calls.track(async () => sweep(context, validateSweepOptions(sweepOptions)), 'sweep'),
    run: (runOptions = {}) =>
      calls.track(async () => runSweeps(context, validateRunOptions(runOptions), sleeps), 'run'),
    async notify(referenceOrBody) {
      payments.notify(referenceOrBody);
      await calls.track(() => Promise.all(findReferences(referenceOrBody).map(notifyOne)), 'notify');
    },
  };
}

/**
 * Makes the record of a reference due now. Anyone can send a notification, so it is never believed, and the checks that it
 * causes are bounded. Returns when the check is due, in milliseconds; `null` if there is none. It never rejects.
 */
async function notifyRecord(
  { access, records, kind }: SweepContext,
  reference: string,
): Promise<number | null> {
  try {
    const name = await findOwner(records, reference);
    if (name?.kind !== kind) return null;
    const { found } = await records.change(name, (before, now) => ({
      record: before && notify(before, reference, now),
      mustCommit: false,
    }));
    const dueAt = found.record && getDueAt(found.record, records.now);
    return dueAt === null ? null : Math.max(0, dueAt - records.now);
  } catch (error) {
    access.client.report({ type: 'follow_up', result: 'failed', reference, error: summarizeError(error) });
    return null;
  }
}

/** @throws {ConfigurationError} if the client or the journal cannot work. */
export function readAccess(payments: unknown, journal: Journal): ClientAccess {
  const access: unknown = isObject(payments)
    ? orUndefined((): unknown => Reflect.get(payments, CLIENT_ACCESS))
    : undefined;
  if (!isAccess(access))
    throw new ConfigurationError('payments must be a PaymentsClient of the same version of this package.');
  if (!access.client.journal)
    throw new ConfigurationError('The client has no journal, so there is nothing to follow: give it one.');
  if (access.client.journal !== journal)
    throw new ConfigurationError('journal must be the very journal that the client was given.');
  const { initialDelay, minDelay, maxDelay } = access.client.polling.rules;
  if (Math.max(initialDelay, minDelay, maxDelay) > MAX_PAUSE)
    throw new ConfigurationError(
      'Follow-ups need polling.initialDelay, minDelay and maxDelay of at most an hour.',
    );
  return access;
}

function isAccess(value: unknown): value is ClientAccess {
  return isObject(value) && 'version' in value && value.version === 1;
}

const runOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({ signal: optionalSignal } satisfies OptionsShape<RunOptions>))();

/** @throws {ConfigurationError} if an option is unknown or cannot work. */
function validateRunOptions(options: RunOptions): AbortSignal | undefined {
  return parseOptions(runOptionsSchema, options, { notAnObject: 'run takes an object, such as { signal }.' })
    .signal;
}
