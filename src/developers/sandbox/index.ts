/**
 * The service on this machine, over HTTP, for end-to-end tests and a first run without an account or a network.
 *
 * @module payment-collection-client/sandbox
 */

import { randomInt } from 'node:crypto';
import { isLoopback } from '../../base-url.ts';
import { ListenError, listen, serve, stop, urlOf } from '../../ui/server.ts';
import { createControls, type PaymentControls } from '../mock/controls.ts';
import { Clock } from '../service/clock.ts';
import { deviate } from '../service/deviations.ts';
import type { LedgerObserver } from '../service/ledger.ts';
import { PaymentService } from '../service/service.ts';
import { SettlementTimers } from '../service/settlement-timers.ts';
import { Webhooks } from '../service/webhooks.ts';
import { API_PATH, createApp } from './app.ts';
import { LIVE_KEY, normalizeSandboxOptions, SandboxError, type SandboxOptions, TEST_KEY } from './options.ts';
import { Changes } from './pages/live.ts';
import { openStateFile } from './state-file.ts';

export type { MockCharge, PaymentControls } from '../mock/controls.ts';
export type { Fault, Faults, ForgedFields, WebhookFault } from '../service/faults.ts';
export type { FinalStatus, KnownStatus } from '../service/ledger.ts';
export type { RecordedRequest } from '../service/service.ts';
export type {
  WebhookAttempt,
  WebhookDelivery,
  WebhookOptions,
  WebhookReceiver,
} from '../service/webhook-delivery.ts';
export type { WebhookControls } from '../service/webhooks.ts';
export { SandboxError, type SandboxOptions } from './options.ts';

/** A running sandbox, and the controls that a test has over it: {@link PaymentControls}. */
export interface Sandbox extends PaymentControls, AsyncDisposable {
  /** For the client: `http://127.0.0.1:4010/api/v1`. */
  readonly baseUrl: string;
  /** The dashboard. The customer's phone is `/phone` below it, and the API for scripts `/sandbox`. */
  readonly url: string;
  /** Starts checkout payments, in test mode. It rejects a Mobile Money charge with 403, which is an assumption. */
  readonly testKey: string;
  /** Starts checkout payments, and charges Mobile Money. It does not see the transactions of the test key. */
  readonly liveKey: string;
  /** Moves the sandbox's time ahead by milliseconds. What becomes due happens at once: prompts expire, webhooks leave. */
  advance(milliseconds: number): void;
  /** Cuts all connections, completes the state file, and stops. Also `await using`. */
  close(): Promise<void>;
}

/** How many of the latest requests `requests` has at least. */
const MIN_KEPT_REQUESTS = 5_000;
/** How many characters of a body the sandbox keeps. */
const MAX_KEPT_CHARS = 16_384;

/**
 * Starts the payment service on this machine, over HTTP, with pages on which you play the customer. It is for end-to-end
 * tests of a shop, and for a first run without an account or a network. The command `payment-sandbox` does the same.
 *
 * It is as strict as the mock of `payment-collection-client/testing`, and makes the same assumptions.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work
 * @throws {SandboxError} if it cannot listen, or cannot use the state file
 *
 * @example
 * ```ts
 * await using sandbox = await startSandbox();
 * const payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey });
 *
 * const customer = { customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' } as const;
 * const { reference } = await payments.chargeMobileMoney({ amount: '25.50', ...customer });
 * sandbox.approve(reference); // or open sandbox.url + '/phone' and type a PIN
 * ```
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const normalized = normalizeSandboxOptions(options);
  const { host, publicUrl, returnUrl, webhookUrl, allowHosts, allowTestCharges } = normalized;
  const { port, allowRemote, state, keep, promptExpiry, deviate: deviation } = normalized;
  if (!allowRemote && !isLoopback(host)) {
    throw new SandboxError(
      `${host} is not a loopback address: other machines could reach the sandbox. To allow that: --allow-remote.`,
    );
  }
  const stateFile = state === undefined ? undefined : openStateFile(state);
  const server = await listen(host, port).catch((error: unknown) => {
    stateFile?.close();
    throw error instanceof ListenError ? new SandboxError(error.message, { cause: error.cause }) : error;
  });
  const url = publicUrl ?? urlOf(server, host);
  const access = { baseUrl: url + API_PATH, testKey: TEST_KEY, liveKey: LIVE_KEY };

  const changes = new Changes();
  const notify = () => changes.notify();
  const clock = new Clock();
  const timers = new SettlementTimers(clock);
  const webhooks = new Webhooks({
    sender: 'sandbox',
    clock,
    onChange: notify,
    deviation,
  });
  const pages: LedgerObserver = { created: notify, changed: notify, deleted: notify };
  const service = new PaymentService({
    baseUrl: access.baseUrl,
    checkoutBase: url,
    apiKeys: [access.testKey, access.liveKey],
    allowTestCharges,
    keepRequests: MIN_KEPT_REQUESTS,
    maxBodyChars: MAX_KEPT_CHARS,
    onExchange: notify,
    onResponseLost: notify,
    ledger: {
      clock,
      keep,
      promptExpiry,
      newReference,
      observers: [...(stateFile ? [stateFile.observer] : []), pages, timers, webhooks],
    },
  });
  service.ledger.restore(stateFile?.entries ?? []);
  webhooks.start(service);
  if (webhookUrl !== undefined) webhooks.deliverTo(webhookUrl);
  // Last: it settles what became due while no sandbox ran, and that sends webhooks.
  timers.start(service.ledger);
  const handle = (request: Request) => service.handle(request);
  if (deviation === 'idle-connections') server.keepAliveTimeout = 1;
  const controls = createControls(service, webhooks);
  const app = createApp({
    service,
    handle: deviation === undefined ? handle : deviate(handle, deviation, access),
    controls,
    changes,
    webhooks,
    access,
    url,
    allowHosts,
    allowTestCharges,
    returnUrl,
  });
  serve(server, (request, bindings) => app.fetch(request, bindings));

  let closing: Promise<void> | undefined;
  const close = () => {
    webhooks.stop();
    closing ??= stop(server).finally(() => {
      clock.clear();
      stateFile?.close();
    });
    return closing;
  };
  const advance = (milliseconds: number) => clock.advance(milliseconds);
  return Object.assign(controls, { ...access, url, advance, close, [Symbol.asyncDispose]: close });
}

/** Creates ten random letters and digits, because a shop's database can still have the references of the last run. */
function newReference(): string {
  const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  return `TXN-${Array.from({ length: 10 }, () => letters[randomInt(letters.length)]).join('')}`;
}
