import type { ResponseHeaders } from './response.ts';

/** The header that names one request, in lower case. */
export const REQUEST_ID = 'x-request-id';

/** A response to a request older than this many is not recognised as late. */
const MAX_REMEMBERED = 1_000;

/** Makes the ids of a client's requests, and remembers the latest of them. */
export class RequestIds {
  // A ring: an id is added to it for each request, and looked up only if a response has another id than its request.
  readonly #latest: string[] = [];
  #next = 0;

  create(): string {
    const id = crypto.randomUUID();
    this.#latest[this.#next] = id;
    this.#next = (this.#next + 1) % MAX_REMEMBERED;
    return id;
  }

  /** Whether a response has the id of an earlier request than its own. */
  isEarlier(returned: string | null, sent: string): boolean {
    return returned !== null && returned !== sent && this.#latest.includes(returned);
  }
}

const MAX_SERVICE_ID_LENGTH = 200;

/** The other headers in which services commonly return the id of a request. */
const SERVICE_ID_HEADERS = ['request-id', 'x-correlation-id', 'x-amzn-requestid', 'cf-ray'];

/** Returns the id under which the service's logs know a request, if the response has one. */
export function readServiceRequestId(
  returnedId: string | null,
  headers: ResponseHeaders,
  redactId: (id: string) => string,
): string | undefined {
  let found = returnedId;
  for (const name of SERVICE_ID_HEADERS) found ||= headers.get(name);
  return found ? redactId(found).slice(0, MAX_SERVICE_ID_LENGTH) : undefined;
}
