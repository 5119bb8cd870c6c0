import { MAX_TIMEOUT_MS } from '../max-timeout.ts';
import { version } from '../version.ts';
import type { AnswerHeaders } from './response.ts';

/** The header that names one request: in lower case, as all names of headers are here. */
export const REQUEST_ID = 'x-request-id';

/** The headers of one request, by names in lower case. */
export function buildHeaders(
  own: Readonly<Record<string, string>>,
  requestId: string,
  apiKey: string,
  hasBody: boolean,
): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': `payment-collection-client/${version}`,
    [REQUEST_ID]: requestId,
    ...own,
    authorization: `Bearer ${apiKey}`,
    ...(hasBody ? { 'content-type': 'application/json' } : {}),
  };
}

/** A response that comes later than this many requests is not told from any other. */
const MAX_REMEMBERED = 1_000;

/** An id for one request, put into `recent`, which keeps the latest. */
export function newRequestId(recent: Set<string>): string {
  const requestId = randomUUID();
  recent.add(requestId);
  if (recent.size > MAX_REMEMBERED) {
    const [oldest = ''] = recent;
    recent.delete(oldest);
  }
  return requestId;
}

/** Some runtimes have no `crypto.randomUUID`: a browser on a page over http is one. The id is no secret. */
function randomUUID(): string {
  if (typeof crypto !== 'undefined' && typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const digits = Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16));
  digits[12] = '4';
  digits[16] = '8';
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The Retry-After header in milliseconds, from seconds or a date (RFC 9110, 10.2.3). */
export function parseRetryAfter(headers: AnswerHeaders): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, MAX_TIMEOUT_MS);
  const moment = / GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(moment)) return undefined;
  return Math.min(Math.max(0, moment - Date.now()), MAX_TIMEOUT_MS);
}
