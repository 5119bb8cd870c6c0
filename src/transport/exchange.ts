import { type KyInstance, NetworkError } from 'ky';

/** An answer larger than this is cut off: SPEC.md's are well under a kilobyte. */
const MAX_BODY_BYTES = 1024 * 1024;

export interface HttpRequest {
  method: 'GET' | 'POST';
  path: string;
  headers: Headers;
  body: string | undefined;
}

/** What has come in so far. It is filled as it comes, so that an answer cut short is not lost. */
export interface Received {
  status: number | null;
  headers: Headers;
  text: string;
  /** The body was longer than {@link MAX_BODY_BYTES}; `text` holds its beginning. */
  truncated: boolean;
  /** The body as JSON, or `undefined` where it is none. */
  readonly json: unknown;
}

export function nothingReceived(): Received {
  let json: { value: unknown } | undefined;
  return {
    status: null,
    headers: new Headers(),
    text: '',
    truncated: false,
    get json() {
      json ??= { value: this.truncated ? undefined : parsed(this.text) };
      return json.value;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One HTTP request and its answer, whole. */
export async function exchange(
  http: KyInstance,
  { method, path, headers, body }: HttpRequest,
  signal: AbortSignal,
  received: Received,
): Promise<void> {
  const options = { method, headers, signal, ...(body === undefined ? {} : { body }) };
  const response = await http(path, options).catch((error: unknown) => {
    throw error instanceof NetworkError ? error.cause : error;
  });
  // A browser hides a redirect's status behind 0.
  received.status = response.type === 'opaqueredirect' ? 302 : response.status;
  received.headers = response.headers;
  if (response.body) await readText(response.body, received);
}

async function readText(body: ReadableStream<Uint8Array>, received: Received): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    bytes += chunk.value.byteLength;
    if (bytes > MAX_BODY_BYTES) {
      received.truncated = true;
      reader.cancel().catch(() => {});
      return;
    }
    received.text += decoder.decode(chunk.value, { stream: true });
  }
  received.text += decoder.decode();
}
