import type { OperationName } from '../contract/operation.ts';
import { ClosedError } from '../errors.ts';

/**
 * One signal for the caller's own and for `close()`. Both outlive the call: `release` leaves nothing behind on them,
 * which `AbortSignal.any` would do.
 */
export function linkSignals(
  operation: OperationName,
  own: AbortSignal | undefined,
  closing: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const either = new AbortController();
  const onAbort = () => either.abort(own?.reason);
  const onClose = () => either.abort(new ClosedError(operation));
  own?.addEventListener('abort', onAbort, { once: true });
  closing.addEventListener('abort', onClose, { once: true });
  if (own?.aborted) onAbort();
  if (closing.aborted) onClose();
  return {
    signal: either.signal,
    release: () => {
      own?.removeEventListener('abort', onAbort);
      closing.removeEventListener('abort', onClose);
    },
  };
}
