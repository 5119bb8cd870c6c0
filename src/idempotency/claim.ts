/** A press of "Pay", or a call with a key: the rules decide by the record what is sent, and claim it in the same write. */

import { type CreateOperation, DEFAULT_CURRENCY, type OperationName } from '../api/operations.ts';
import type { DetectedMode } from '../api-key.ts';
import { detectMode } from '../api-key.ts';
import type { ClientAccess } from '../client-access.ts';
import { ConfigurationError, JournalError } from '../errors.ts';
import type { Call } from '../http/call.ts';
import { REQUEST_ID } from '../http/request-id.ts';
import { type AttemptFacts, keepTrying } from '../journal/attempt.ts';
import { getLateResult } from '../journal/call-store.ts';
import type { RecordName } from '../journal/names.ts';
import type { Found, Records } from '../journal/records.ts';
import { complete } from '../ledger/outcome.ts';
import { type Ask, type Pressed, press } from '../ledger/press.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import type { PollingRules } from '../options.ts';
import { MAX_TIMEOUT_MS } from '../support/max-timeout.ts';
import { CallerAborted, readClocks, type Timestamp, withDeadline } from '../support/timing.ts';
import { createFingerprint, digestService } from './fingerprint.ts';

export interface CreateRequest {
  readonly amount: number;
  readonly currency?: string | undefined;
  readonly customer_email: string;
  readonly phone?: string | undefined;
  readonly network?: string | undefined;
}

/** A validated call that creates a transaction, and the record that it is claimed in. */
export interface KeyedCall<Input, Request extends CreateRequest, Result> {
  readonly name: RecordName;
  readonly operation: CreateOperation<Input, Request, Result>;
  readonly call: Call<Input, Request, Result>;
  /** A digest of the customer's number. */
  readonly phone?: string | undefined;
}

/** The API key that a call begins with, and the service and mode that it is for. */
export interface Origin {
  readonly apiKey: string;
  readonly mode: DetectedMode;
  /** A digest of base URL and mode. */
  readonly service: string;
}

/** A record belongs to one mode, and only the API key shows the mode. */
export async function resolveOrigin(
  { client, resolveApiKey }: ClientAccess,
  call: { readonly signal: AbortSignal | undefined; readonly timeout: number },
  operation: OperationName = 'verify',
): Promise<Origin> {
  const apiKey = await resolveApiKey(operation, call);
  const mode = detectMode(apiKey);
  return { apiKey, mode, service: await digestService(client.baseUrl, mode) };
}

/** @throws {ConfigurationError} if a record belongs to another service or mode */
export function assertService(
  record: LedgerRecord | null,
  service: string,
  operation: OperationName = 'verify',
): void {
  if (record === null || record.service === service) return;
  throw new ConfigurationError(
    'The journal has this order or key of another base URL or mode (test or live) than this client. Nothing was read, sent ' +
      'or changed. Use the client that made it.',
    { operation },
  );
}

/** Returns what a call asks for. Each attempt has an id of its own, and so has its first request. */
export async function createAsk<Input, Request extends CreateRequest, Result>(
  { client, requestIds }: ClientAccess,
  { name, operation, call, phone }: KeyedCall<Input, Request, Result>,
  redactId: (id: string) => string,
): Promise<{ readonly ask: Ask; readonly requestId: string }> {
  if (operation.name === 'verify') throw new ConfigurationError('A read needs no idempotencyKey.');
  const { amount, currency = DEFAULT_CURRENCY, network } = call.request;
  const ownId = call.headers[REQUEST_ID];
  const requestId = ownId ?? requestIds.create();
  const ask: Ask = {
    operation: operation.name,
    amount: amount.toFixed(2),
    currency,
    network,
    phone,
    fingerprint: await createFingerprint(name, operation.name, call.fields, currency),
    attempt: crypto.randomUUID(),
    requestId: ownId === undefined ? requestId : redactId(ownId),
    ...pickSchedule(client.polling.rules),
  };
  return { ask, requestId };
}

function pickSchedule(rules: PollingRules): Pick<Ask, 'schedule' | 'finalStatuses'> {
  const { initialDelay, minDelay, maxDelay, timeout, finalStatuses } = rules;
  const schedule = { initialDelay, minDelay, maxDelay, ...(Number.isFinite(timeout) && { timeout }) };
  return { schedule, finalStatuses: [...finalStatuses] };
}

export interface Decided extends Pressed {
  readonly found: Found;
  /** Read before the record was written, so that the lease is never taken for longer than it is. */
  readonly requestedAt: Timestamp;
}

interface Pressing {
  readonly records: Records;
  readonly access: ClientAccess;
  readonly since: Timestamp;
  readonly startAnother: boolean;
  readonly signal: AbortSignal | undefined;
}

/** How long the journal is waited for after the caller's abort, in milliseconds, so that a claim can still be released. */
export const ABORT_GRACE = 1_000;

/**
 * Decides what a press does, and claims the payment that it begins. It rejects with the signal's own reason: a claim that is
 * written too late for the caller is released.
 *
 * @throws {ConfigurationError} if the record belongs to another service or mode.
 * @throws {JournalError} if the journal fails. Nothing was sent.
 */
export async function claimPayment(
  { records, access, since, startAnother, signal }: Pressing,
  facts: AttemptFacts,
  known: Found | undefined,
): Promise<Decided> {
  const { name, owner, ask } = facts;
  if (signal?.aborted) throw signal.reason;
  const requestedAt = readClocks();
  let isClaiming = false;
  const deciding = records.change(
    name,
    (before, now) => {
      assertService(before, owner.service, ask.operation);
      const { lead } = records;
      const began = now + lead - (performance.now() - since.monotonic);
      const lease = records.lease + lead;
      const pressed = press(before, owner, { ask, lease, since: began, now, startAnother });
      isClaiming ||= pressed.decision.do === 'send';
      // The price that it asks for is recorded with what the checks find.
      return pressed.decision.do === 'check' && before ? { ...pressed, record: before } : pressed;
    },
    { known },
  );
  try {
    const decided = await withDeadline(MAX_TIMEOUT_MS, signal, () => deciding);
    return { ...decided, requestedAt };
  } catch (error) {
    const isAborted = error instanceof CallerAborted;
    if (!isAborted && !(error instanceof JournalError)) throw error;
    // The call ends before this does, and a client that is closed waits for it.
    const releaseClaim = async () => {
      await deciding.catch((error: unknown) => getLateResult(error)).catch(() => {});
      if (isClaiming) await release(records, facts);
    };
    const releasing = access.calls.track(releaseClaim, ask.operation, name.id);
    if (!isAborted) throw error;
    await withDeadline(ABORT_GRACE, undefined, () => releasing).catch(() => {});
    throw error.reason;
  }
}

/** Records that nothing was sent under a claim, nor will be. A crash before that leaves it unresolved, although there is no charge. */
async function release(records: Records, { name, owner, ask }: AttemptFacts): Promise<void> {
  const write = () =>
    records.change(name, (before, now) => {
      const { record } = complete(before, owner, ask, { is: 'none', why: 'not_sent' }, now);
      return { record };
    });
  await keepTrying(write).catch(() => {});
}
