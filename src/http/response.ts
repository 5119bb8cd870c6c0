import type { ResponseSink } from '../options.ts';
import { orUndefined } from '../untrusted.ts';

/** An answer larger than this is cut off: SPEC.md's are well under a kilobyte. */
const MAX_BODY_BYTES = 1024 * 1024;

/** What is asked of an answer's headers. */
export type AnswerHeaders = Pick<Headers, 'get'>;

const NO_HEADERS: AnswerHeaders = { get: () => null };

/** What has come in so far. It is filled as it comes, so that an answer cut short is not lost. */
export class ResponseBuffer implements ResponseSink {
  status: number | null = null;
  headers: AnswerHeaders = NO_HEADERS;
  /** The body was longer than {@link MAX_BODY_BYTES}; `text` holds its beginning. */
  truncated = false;
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;
  #text: string | undefined;
  #json: { value: unknown } | undefined;

  onHeaders(status: number, headers: AnswerHeaders): void {
    if (!(Number.isInteger(status) && status >= 100 && status <= 999))
      throw new TypeError('An answer came without a status.');
    this.status = status;
    this.headers = { get: (name) => safeHeader(headers, name) };
  }

  onData(bytes: Uint8Array): boolean {
    if (!ArrayBuffer.isView(bytes))
      throw new TypeError('A piece of the body came as something else than bytes.');
    this.#bytes += bytes.byteLength;
    this.truncated ||= this.#bytes > MAX_BODY_BYTES;
    if (!this.truncated) this.#pieces.push(bytes);
    this.#text = undefined;
    return !this.truncated;
  }

  /** Of the whole, once it has come. */
  get text(): string {
    this.#text ??= new TextDecoder().decode(concat(this.#pieces));
    return this.#text;
  }

  /** The body as JSON, or `undefined` where it is none. */
  get json(): unknown {
    this.#json ??= { value: this.truncated ? undefined : orUndefined(() => JSON.parse(this.text)) };
    return this.#json.value;
  }
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array()] = pieces;
  if (pieces.length <= 1) return first;
  const whole = new Uint8Array(pieces.reduce((length, { byteLength }) => length + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}

/** A fetch or transport may be anybody's: what is wrong with its headers is no reason to lose what the answer says. */
function safeHeader(headers: AnswerHeaders, name: string): string | null {
  const value: unknown = orUndefined(() => headers.get(name));
  return typeof value === 'string' ? value : null;
}
