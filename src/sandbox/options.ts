import { MAX_DELAY_MS } from '../testing/ledger.ts';
import { isHttpAddress } from '../testing/validate-request.ts';
import { refuseUnknownOption } from '../unknown-option.ts';

/** The keys that every sandbox accepts. Neither has the shape of a key of the service's live mode. */
export const TEST_KEY = 'sk_test_sandbox';
export const LIVE_KEY = 'sandbox-live-key';

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
   * The client accepts `http` for loopback hosts, and with `dangerouslyAllowHttp` for others. For any other client on
   * another machine, put a TLS proxy in front.
   *
   * @default the address that it listens on
   */
  publicUrl?: string | undefined;
  /**
   * More host names that the sandbox accepts, such as `sandbox`, its name in a network of containers.
   *
   * @default []
   */
  allowHosts?: readonly string[] | undefined;
  /**
   * Where the checkout page leads back to after the customer has paid, declined or left: an http or https address of the
   * shop. The sandbox adds the parameter `reference`. The field `sandbox_return_url` of an `initialize` (give it in
   * `extraBody`) counts for that payment instead. Both are the sandbox's own: the service does not document a return.
   *
   * @default the page leads nowhere, and says so
   */
  returnUrl?: string | undefined;
  /**
   * Where the sandbox posts a webhook when a payment becomes final: an http or https address of the shop. The service does
   * not document its webhooks: payload, headers and retries are the sandbox's own.
   *
   * @default no webhooks
   */
  webhookUrl?: string | undefined;
  /**
   * Charges Mobile Money with the test key too. Otherwise the sandbox rejects such a charge with 403, which is an
   * assumption.
   *
   * @default false
   */
  allowTestCharges?: boolean | undefined;
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
  allowHosts: true,
  returnUrl: true,
  webhookUrl: true,
  allowTestCharges: true,
  state: true,
  keep: true,
  promptExpiry: true,
};

export interface ResolvedOptions {
  readonly port: number;
  readonly host: string;
  readonly allowRemote: boolean;
  readonly publicUrl: string | undefined;
  readonly allowHosts: readonly string[];
  readonly returnUrl: string | undefined;
  readonly webhookUrl: string | undefined;
  readonly allowTestCharges: boolean;
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
    allowHosts = [],
    returnUrl,
    webhookUrl,
    allowTestCharges = false,
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
    allowHosts: allowHosts.map(parseHostName),
    returnUrl: parseAddress('returnUrl', returnUrl),
    webhookUrl: parseAddress('webhookUrl', webhookUrl),
    allowTestCharges,
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

/** Returns a host name as a URL has it: in lower case, without a port. */
function parseHostName(name: string): string {
  const address = `http://${name}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url && url.href === `http://${url.hostname}/`) return url.hostname;
  throw new SandboxError(`allowHosts takes host names without a port, such as sandbox, not "${name}".`);
}

function parseAddress(option: string, address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  if (isHttpAddress(address)) return address;
  // An address can contain a password, so it is not shown.
  throw new SandboxError(`${option} must be an http or https address, such as http://localhost:3000/path.`);
}

/** Returns the origin of an address without a path, such as `https://pay.shop.test:8443`. */
function parsePublicUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new SandboxError(
    `The public address must be http or https, a host, and an optional port, not "${address}".`,
  );
}
