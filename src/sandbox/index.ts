/**
 * The service on this machine, over HTTP, for end-to-end tests and a first run with no account and no network.
 *
 * @module payment-collection-client/sandbox
 */

import { randomInt } from 'node:crypto';
import { createControls, type PaymentControls } from '../testing/controls.ts';
import { type Entry, type LedgerObserver, LONGEST_DELAY } from '../testing/ledger.ts';
import { PaymentService } from '../testing/service.ts';
import { Activity } from './activity.ts';
import { publicOrigin, SandboxError, urlOf } from './address.ts';
import { API_PATH } from './api.ts';
import { createApp } from './app.ts';
import { SettlementTimers } from './due.ts';
import { answerWith, listen, stop } from './server.ts';
import { Store } from './store.ts';

export type { MockCharge, PaymentControls } from '../testing/controls.ts';
export type * from '../testing/faults.ts';
export type { FinalStatus, KnownStatus } from '../testing/ledger.ts';
export type { RecordedRequest } from '../testing/service.ts';
export { SandboxError };

/** What {@link startSandbox} is made from. */
export interface SandboxOptions {
  /**
   * The port to listen on; 0 takes a free one.
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
   * Listen also where others on the network can reach it. Nothing protects the pages from them.
   *
   * @default false
   */
  allowRemote?: boolean | undefined;
  /**
   * Where others reach the sandbox, such as `https://sandbox.test`: the beginning of every `checkout_url`, and a name
   * that it answers to. Otherwise it answers to `localhost` and to addresses. The client takes `http` for this machine
   * only, so for a client elsewhere something in front of the sandbox has to speak TLS.
   *
   * @default the address that it listens on
   */
  publicUrl?: string | undefined;
  /**
   * A file that keeps the transactions over a restart: an SQLite database, made where there is none. It needs
   * `node:sqlite`, which Node has from 22.13 on.
   *
   * @default nothing is kept
   */
  state?: string | undefined;
  /**
   * How many transactions are kept. Where there are more, final ones go first, the oldest before others.
   *
   * @default 100_000
   */
  keep?: number | undefined;
  /**
   * Milliseconds after which a prompt that nobody answers expires: the charge has then `failed`. At most 10¹².
   *
   * @default 300_000
   */
  promptExpiry?: number | undefined;
}

/** A running sandbox, and what a test does to it: {@link PaymentControls}. */
export interface Sandbox extends PaymentControls, AsyncDisposable {
  /** Give it to the client: `http://127.0.0.1:4010/api/v1`. */
  readonly baseUrl: string;
  /** The dashboard; `/phone` below it is the customer's phone. */
  readonly url: string;
  /** Starts payments by checkout page. It is refused for Mobile Money, as an assumption with 403. */
  readonly testKey: string;
  /** Starts payments by checkout page, and charges Mobile Money. */
  readonly liveKey: string;
  /** Ends it: connections are cut, the state file is complete. Also `await using`. */
  close(): Promise<void>;
}

const KEEP = 100_000;
const PROMPT_EXPIRY = 300_000;
const REQUESTS = 1_000;

/**
 * The payment service on this machine, over HTTP, with pages that play the customer: for end-to-end tests of a shop,
 * and for a first run with no account and no network. The command `payment-sandbox` is the same.
 *
 * It keeps to SPEC.md as strictly as the mock of `payment-collection-client/testing`, with the same assumptions.
 *
 * @throws SandboxError where it cannot listen, or cannot use the state file.
 * @example
 * ```ts
 * await using sandbox = await startSandbox();
 * const payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey });
 *
 * const { reference } = await payments.chargeMobileMoney(charge);
 * sandbox.approve(reference); // or open sandbox.url + '/phone' and type a PIN
 * ```
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { host = '127.0.0.1', port = 0, allowRemote = false, state } = options;
  const { keep = KEEP, promptExpiry = PROMPT_EXPIRY } = options;
  checkCount('keep', keep);
  checkCount('promptExpiry', promptExpiry, LONGEST_DELAY);
  if (host === '') throw new SandboxError('host must be an address or a name.');
  const given = options.publicUrl === undefined ? undefined : publicOrigin(options.publicUrl);
  const store = state === undefined ? undefined : new Store(state);
  const entries = store?.entries() ?? [];
  const server = await listen({ host, port, allowRemote }).catch((error: unknown) => {
    store?.close();
    throw error;
  });
  const address = server.address();
  const url = given ?? urlOf(host, typeof address === 'object' && address ? address.port : port);
  const access = { baseUrl: url + API_PATH, testKey: 'sk_test_sandbox', liveKey: 'sk_live_sandbox' };

  const activity = new Activity();
  const due = new SettlementTimers();
  const observer = allOf(store ? [store, activity, due] : [activity, due]);
  const service = new PaymentService({
    baseUrl: access.baseUrl,
    checkoutBase: url,
    apiKeys: [access.testKey, access.liveKey],
    refuseTestCharges: true,
    keepRequests: REQUESTS,
    onExchange: (exchange) => activity.exchanged(exchange),
    ledger: { keep, promptExpiry, newReference, observer },
  });
  activity.restore(entries);
  service.ledger.restore(entries);
  due.watch(service.ledger, entries);
  const app = createApp({ service, activity, access, url });
  answerWith(server, (request, bindings) => app.fetch(request, bindings));

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= stop(server).finally(() => {
      due.stop();
      store?.close();
    });
    return closing;
  };
  return Object.assign(createControls(service), { ...access, url, close, [Symbol.asyncDispose]: close });
}

/** Ten letters and digits: a shop's database may still know the references of the last run. */
function newReference(): string {
  const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  return `TXN-${Array.from({ length: 10 }, () => letters[randomInt(letters.length)]).join('')}`;
}

function allOf(observers: readonly LedgerObserver[]): LedgerObserver {
  const tell = (news: keyof LedgerObserver) => (entry: Entry) => {
    for (const observer of observers) observer[news](entry);
  };
  return { created: tell('created'), changed: tell('changed'), dropped: tell('dropped') };
}

function checkCount(name: string, value: number, most = Number.MAX_SAFE_INTEGER): void {
  if (!(Number.isSafeInteger(value) && value > 0 && value <= most)) {
    throw new SandboxError(`${name} must be a whole number, 1 to ${most}, not ${value}.`);
  }
}
