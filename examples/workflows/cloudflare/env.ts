/** The bindings of wrangler.jsonc, and its variables and secrets. */
export interface Env {
  readonly DB: D1Database;
  readonly PAYMENTS_BASE_URL: string;
  /** A secret: `wrangler secret put PAYMENTS_API_KEY`. */
  readonly PAYMENTS_API_KEY: string;
  /** The timeout of one request in milliseconds, for the tests. */
  readonly PAYMENTS_TIMEOUT?: string;
  /** How long a claim lasts after the last heartbeat, in milliseconds, for the tests. */
  readonly JOURNAL_LEASE?: string;
  /** Another schedule as JSON, for the tests: they cannot wait for ten minutes. */
  readonly CHECK_SCHEDULE?: string;
}
