import { MAX_DELAY_MS } from '../testing/ledger.ts';
import { refuseUnknownOption } from '../unknown-option.ts';

/** The sandbox cannot start as configured. The message says what to change. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
}

/** The options of {@link startSandbox}. */
export interface SandboxOptions {
  /**
   * The port to listen on. 0 takes a free one.
   *
   * @default 0
   */
  port?: number | undefined;
  /**
   * The address to listen on.
   *
   * @default '127.0.0.1'
   */
  host?: string | undefined;
  /**
   * Allows a `host` that other machines can reach. Nothing protects the pages from them.
   *
   * @default false
   */
  allowRemote?: boolean | undefined;
  /**
   * The address by which others reach the sandbox, such as `https://sandbox.test`. Every `checkout_url` begins with it,
   * and the sandbox accepts its name. Otherwise it accepts `localhost` and IP addresses only.
   *
   * The client accepts `http` for loopback hosts only. For a client on another machine, put a TLS proxy in front.
   *
   * @default the address that it listens on
   */
  publicUrl?: string | undefined;
  /**
   * A file that keeps the transactions over a restart: an SQLite database, created if it does not exist. It needs
   * `node:sqlite`, which Node has from 22.13 on.
   *
   * @default nothing is kept
   */
  state?: string | undefined;
  /**
   * How many transactions to keep. Above that, final ones are deleted first, and older ones first.
   *
   * @default 100_000
   */
  keep?: number | undefined;
  /**
   * Milliseconds until an unanswered prompt expires: the charge then has the status `failed`. At most 10¹².
   *
   * @default 300_000
   */
  promptExpiry?: number | undefined;
}

const OPTIONS: Readonly<Record<keyof SandboxOptions, true>> = {
  port: true,
  host: true,
  allowRemote: true,
  publicUrl: true,
  state: true,
  keep: true,
  promptExpiry: true,
};

export interface ResolvedOptions {
  readonly port: number;
  readonly host: string;
  readonly allowRemote: boolean;
  readonly publicUrl: string | undefined;
  readonly state: string | undefined;
  readonly keep: number;
  readonly promptExpiry: number;
}

/** Applies the defaults, and refuses what cannot work. */
export function resolveOptions(options: SandboxOptions): ResolvedOptions {
  const {
    port = 0,
    host = '127.0.0.1',
    allowRemote = false,
    publicUrl,
    state,
    keep = 100_000,
    promptExpiry = 300_000,
    ...others
  } = options;
  refuseUnknownOption(others, OPTIONS);
  validateCount('keep', keep);
  validateCount('promptExpiry', promptExpiry, MAX_DELAY_MS);
  if (host === '') throw new SandboxError('host must be an address or a name.');
  return {
    port,
    host,
    allowRemote,
    publicUrl: publicUrl === undefined ? undefined : parsePublicUrl(publicUrl),
    state,
    keep,
    promptExpiry,
  };
}

function validateCount(name: string, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (!(Number.isSafeInteger(value) && value > 0 && value <= max)) {
    throw new SandboxError(`${name} must be a whole number from 1 to ${max}, not ${value}.`);
  }
}

/** Returns the origin of an address without a path, such as `https://pay.shop.test:8443`. */
function parsePublicUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new SandboxError(
    `The public address must be http or https, a host, and an optional port, not "${address}".`,
  );
}
