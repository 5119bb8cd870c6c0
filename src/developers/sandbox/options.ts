import * as z from 'zod/mini';
import {
  type OptionsShape,
  optionalFlag,
  optionalNumber,
  optionalValue,
  parseOptions,
} from '../../parse-options.ts';
import { deviations } from '../service/deviations.ts';
import { MAX_DELAY_MS } from '../service/ledger.ts';
import { isHttpAddress } from '../service/validate-request.ts';

/** The keys that every sandbox accepts. Neither has the shape of a key of the service's live mode. */
export const TEST_KEY = 'sk_test_sandbox';
export const LIVE_KEY = 'sandbox-live-key';

export type NormalizedOptions = ReturnType<typeof normalizeSandboxOptions>;

/** What a shop needs to send requests to the sandbox. */
export interface Access {
  readonly baseUrl: string;
  readonly testKey: string;
  readonly liveKey: string;
}

/** The sandbox cannot start: its port or its state file cannot be used. The message says what to change. */
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
  /**
   * Breaks one assumption about the service, by its name in `payment-probe`, so that you see what your shop and the probe
   * make of it.
   *
   * @default none is broken
   */
  deviate?: string | undefined;
}

const optionsSchema = z.strictObject({
  port: optionalNumber(isCountUpTo(65_535, 0), 'port must be a whole number from 0 to 65535.'),
  host: optionalValue<string>(
    (value) => typeof value === 'string' && value !== '',
    'host must be an address or a name.',
  ),
  allowRemote: optionalFlag('allowRemote'),
  publicUrl: optionalValue<string>(
    (value) => parseOrigin(value) !== null,
    'publicUrl must be http or https, a host, and an optional port, such as https://sandbox.test.',
  ),
  allowHosts: optionalValue<readonly string[]>(
    (value) => Array.isArray(value) && value.every((name) => parseHostName(name) !== null),
    'allowHosts takes host names without a port, such as sandbox.',
  ),
  returnUrl: optionalAddress('returnUrl'),
  webhookUrl: optionalAddress('webhookUrl'),
  allowTestCharges: optionalFlag('allowTestCharges'),
  state: optionalValue<string>(
    (value) => typeof value === 'string' && value !== '' && value !== ':memory:',
    'The state file needs a name. Without one nothing is kept.',
  ),
  keep: optionalNumber(isCountUpTo(Number.MAX_SAFE_INTEGER), 'keep must be a whole number, 1 or more.'),
  promptExpiry: optionalNumber(
    isCountUpTo(MAX_DELAY_MS),
    `promptExpiry must be a whole number from 1 to ${MAX_DELAY_MS}.`,
  ),
  deviate: optionalValue<string>(
    (value) => typeof value === 'string' && Object.hasOwn(deviations, value),
    `deviate must be one of ${Object.keys(deviations).join(', ')}.`,
  ),
} satisfies OptionsShape<SandboxOptions>);

/**
 * Applies the defaults.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work
 */
export function normalizeSandboxOptions(options: SandboxOptions) {
  const {
    publicUrl,
    allowHosts = [],
    ...given
  } = parseOptions(optionsSchema, options, {
    notAnObject: 'startSandbox takes an object, such as { port: 4010 }.',
  });
  return {
    ...given,
    port: given.port ?? 0,
    host: given.host ?? '127.0.0.1',
    allowRemote: given.allowRemote ?? false,
    publicUrl: parseOrigin(publicUrl) ?? undefined,
    allowHosts: allowHosts.flatMap((name) => parseHostName(name) ?? []),
    allowTestCharges: given.allowTestCharges ?? false,
    keep: given.keep ?? 100_000,
    promptExpiry: given.promptExpiry ?? 300_000,
  };
}

function isCountUpTo(max: number, min = 1) {
  return (value: number) => Number.isSafeInteger(value) && value >= min && value <= max;
}

/** An address can contain a password, so the message does not show it. */
function optionalAddress(name: string) {
  return optionalValue<string>(
    isHttpAddress,
    `${name} must be an http or https address, such as http://localhost:3000/path.`,
  );
}

/** Returns a host name as a URL has it: in lower case, without a port. */
function parseHostName(name: unknown): string | null {
  const address = `http://${name}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  return url?.href === `http://${url?.hostname}/` ? url.hostname : null;
}

/** Returns the origin of an address without a path, such as `https://pay.shop.test:8443`. */
function parseOrigin(address: unknown): string | null {
  const url = isHttpAddress(address) ? new URL(address) : null;
  return url?.href === `${url?.origin}/` ? url.origin : null;
}
