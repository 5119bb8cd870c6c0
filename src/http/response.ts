import type { ResponseSink } from '../options.ts';
import { MAX_TIMEOUT_MS } from '../support/max-timeout.ts';
import { parseJson } from '../support/untrusted.ts';

/** A larger body is cut off: the service's own are well under a kilobyte. */
const MAX_BODY_BYTES = 1024 * 1024;

export type ResponseHeaders = Pick<Headers, 'get'>;

const NO_HEADERS: ResponseHeaders = { get: () => null };

// One for all responses: each takes as long to make as a small body takes to decode.
const bodyDecoder = new TextDecoder();

/** What has arrived of a response so far. It is filled as data arrives, so that a part is not lost. */
export class ResponseBuffer implements ResponseSink {
  /** `null` until the headers have arrived. */
  status: number | null = null;
  headers: ResponseHeaders = NO_HEADERS;
  /** Whether the body was longer than {@link MAX_BODY_BYTES}. `text` then holds its beginning. */
  truncated = false;
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #text: string | undefined;
  #json: { value: unknown } | undefined;

  onHeaders(status: number, headers: ResponseHeaders): void {
    if (!(Number.isInteger(status) && status >= 100 && status <= 999))
      throw new TypeError('The response has no HTTP status.');
    this.status = status;
    this.headers = { get: (name) => safeHeader(headers, name) };
  }

  onData(bytes: Uint8Array): boolean {
    if (!ArrayBuffer.isView(bytes)) throw new TypeError('The response body is not made of bytes.');
    this.#bytes += bytes.byteLength;
    this.truncated ||= this.#bytes > MAX_BODY_BYTES;
    if (!this.truncated) this.#chunks.push(bytes);
    this.#text = undefined;
    return !this.truncated;
  }

  /** The body as text, decoded once. Read it after the last chunk. */
  get text(): string {
    this.#text ??= bodyDecoder.decode(concat(this.#chunks));
    return this.#text;
  }

  get json(): unknown {
    this.#json ??= { value: this.truncated ? undefined : parseJson(this.text) };
    return this.#json.value;
  }

  /** The Retry-After header in milliseconds, from seconds or a date (RFC 9110, 10.2.3). */
  get retryAfter(): number | undefined {
    const value = this.headers.get('retry-after')?.trim();
    if (!value) return undefined;
    if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, MAX_TIMEOUT_MS);
    const date = / GMT$/.test(value) ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(date)) return undefined;
    return Math.min(Math.max(0, date - Date.now()), MAX_TIMEOUT_MS);
  }
}

/** A caller's fetch or transport might return headers that throw. The status and the body must not be lost with them. */
function safeHeader(headers: ResponseHeaders, name: string): string | null {
  try {
    const value: unknown = headers.get(name);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array()] = chunks;
  if (chunks.length <= 1) return first;
  const whole = new Uint8Array(chunks.reduce((length, { byteLength }) => length + byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
