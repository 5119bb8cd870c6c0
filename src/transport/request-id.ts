/** The header that names one request: in lower case, as all names of headers are here. */
export const REQUEST_ID = 'x-request-id';

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
