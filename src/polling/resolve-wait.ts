import { YEAR_2001 } from '../contract/input.ts';
import { ConfigurationError } from '../errors.ts';
import { verify } from '../operations.ts';
import { checkTimeout, type PollingRules, resolveRules, type WaitOptions } from '../polling-options.ts';
import { shownReference } from '../redact.ts';
import { validateHeaders, validateSignal } from '../resolve-options.ts';
import { validateInput } from '../transport/request.ts';
import type { ResolvedWait } from './wait.ts';

/** Checks a wait's options once and fills in the client's. */
export function resolveWait(
  reference: string,
  options: WaitOptions,
  client: PollingRules,
  showReference: (reference: string) => string = shownReference,
): ResolvedWait {
  const {
    signal,
    timeout = client.timeout,
    startedAt,
    onPoll,
    expect,
    headers,
    maxRetries: _,
    ...rules
  } = options;
  const request = validateInput(verify, { reference, expect });
  checkTimeout(timeout);
  if (startedAt !== undefined && !(Number.isFinite(startedAt) && startedAt >= YEAR_2001)) {
    throw new ConfigurationError(
      'startedAt must be milliseconds since 1970, as Date.now() gives: not seconds.',
    );
  }
  const shown = showReference(request.reference);
  return {
    reference: request.reference,
    // One more field would cost every wait its memory.
    ...(shown === request.reference ? {} : { shown }),
    rules: Object.keys(rules).length === 0 ? client : resolveRules(rules, client),
    timeout,
    startedAt,
    signal: validateSignal(signal),
    headers: headers === undefined || headers === null ? undefined : validateHeaders(headers),
    expect: request.expect,
    onPoll,
    once: false,
    onTransaction: undefined,
  };
}
