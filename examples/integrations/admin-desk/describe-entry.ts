import type { JournalEntry } from 'payment-collection-client/journal';

/** Says in plain words what is known of a key. It never says more about the money than is proven. */
export function describeState(entry: JournalEntry): string {
  switch (entry.state) {
    case 'unknown':
      return 'A charge might exist. Nothing is sent under this key until it is resolved.';
    case 'begun':
      return 'A process is charging now. Wait some seconds, then reload this page.';
    case 'completed':
      return isResolvedByPerson(entry)
        ? 'A person found the charge. That it exists does not mean that it is paid: see its status.'
        : 'The service itself returned this charge. Nothing has to be resolved.';
    case 'not_charged':
      return 'A person resolved that no charge exists. The shop can charge under this key again.';
    case 'not_sent':
      return 'Nothing was sent to the service. No charge exists, and nothing has to be resolved.';
    case 'rejected':
      return 'The service refused the charge. Nothing has to be resolved, if a refusal means that no charge exists.';
  }
}

/** Says why the outcome of a key is not known. */
export function describeError({ state, error }: JournalEntry): string {
  if (!error)
    return state === 'unknown' ? 'The process ended, or was frozen, before it recorded a result' : '';
  const status = error.status === null ? '' : ` (HTTP ${error.status})`;
  return `${REASONS.get(error.code) ?? error.code}${status}`;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['connection_error', 'The connection broke before the response came'],
  ['request_timeout', 'No response came in time'],
  ['server_error', 'The service, or a gateway before it, failed'],
  ['unexpected_response', 'The response could not be read'],
  ['transaction_mismatch', 'The response was about another amount or currency'],
  ['outcome_unknown', 'The call was ended before the response came'],
  ['closed', 'The shop was shut down before the response came'],
]);

export type EntryResolution = JournalEntry['resolutions'][number];

export function describeResolution({ resolution }: EntryResolution): string {
  return resolution === 'not_charged' ? 'not charged' : `charged: ${resolution.reference}`;
}

/** Whether a person can resolve the key, for the first time or again. */
export function isResolvable(entry: JournalEntry): boolean {
  return entry.state === 'unknown' || entry.state === 'not_charged' || isResolvedByPerson(entry);
}

/** What the service itself returned cannot be overruled. */
function isResolvedByPerson({ state, reference, resolutions }: JournalEntry): boolean {
  const last = resolutions.at(-1)?.resolution;
  return state === 'completed' && typeof last === 'object' && last.reference === reference;
}
