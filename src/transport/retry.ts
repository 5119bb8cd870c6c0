import { APIError } from '../api-errors.ts';
import type { PaymentsError } from '../errors.ts';
import { MAX_TIMEOUT_MS } from '../longest-timer.ts';
import type { AnswerHeaders } from './received.ts';

const FIRST_DELAY = 500;
const LONGEST_DELAY = 8_000;

/** A call does not sleep longer than this for a Retry-After: it fails at once, with `retryAfter` on the error. */
const MAX_RETRY_AFTER = 30_000;

/** How long to wait before the next try, in milliseconds, or `null` where there must not be one. */
export function retryDelay(error: PaymentsError, attempt: number, maxRetries: number): number | null {
  // A claim that was lost is not found again by waiting.
  if (!error.retryable || error.code === 'journal_error' || attempt > maxRetries) return null;
  const retryAfter = error instanceof APIError ? (error.retryAfter ?? 0) : 0;
  if (retryAfter > MAX_RETRY_AFTER) return null;
  const jittered = Math.random() * Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (attempt - 1));
  return Math.round(retryAfter + jittered);
}

/** The Retry-After header in milliseconds, from seconds or a date (RFC 9110, 10.2.3). */
export function parseRetryAfter(headers: AnswerHeaders): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, MAX_TIMEOUT_MS);
  const moment = / GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(moment)) return undefined;
  return Math.min(Math.max(0, moment - Date.now()), MAX_TIMEOUT_MS);
}
