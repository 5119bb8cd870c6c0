import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import {
  type JournalStore,
  memoryJournal,
  memoryStore,
  type ResolutionNote,
} from 'payment-collection-client/journal';
import { startSandbox } from 'payment-collection-client/sandbox';
import { onTestFinished } from 'vitest';
import { createApp } from '../admin-desk/app.ts';
import { hashPassword } from '../admin-desk/login.ts';
import { leaveUnresolvedKeys, orders } from '../admin-desk/seed.ts';
import { listen } from './listen.ts';

export const PASSWORD = 'correct horse battery staple';
export const SECRET = 'the-secret-that-signs-the-cookie';
export const KOFI = 'kofi@shop.example';
export const AMA = 'ama@shop.example';
export const NOTE: ResolutionNote = { by: AMA, reason: 'found in the records' };

/** Starts a sandbox, the seed's three unresolved keys, and the desk. */
export async function startDesk({
  store = memoryStore(),
  ...options
}: PaymentsClientOptions & { store?: JournalStore } = {}) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const journal = memoryJournal({ store, lease: 100 });
  const { baseUrl, liveKey: apiKey } = sandbox;
  const payments = new PaymentsClient({ baseUrl, apiKey, journal, maxRetries: 0, ...options });
  onTestFinished(() => payments.close());
  await leaveUnresolvedKeys(payments, sandbox);
  const hash = await hashPassword(PASSWORD);
  const staff = new Map([
    [KOFI, hash],
    [AMA, hash],
  ]);
  const findOrder = async (key: string) => orders.get(key);
  const { url, close } = await listen(createApp({ payments, journal, staff, secret: SECRET, findOrder }));
  onTestFinished(close);

  /** Returns the reference of an order's charge, as the service's records show it. */
  const findReference = (email: string): string => {
    const found = sandbox.charges.find(({ customer_email }) => customer_email === email);
    if (!found) throw new Error(`The service has no charge of ${email}.`);
    return found.reference;
  };
  /** Charges under a key so that its outcome stays unknown. */
  const leaveUnresolved = async (key: string, amount = '10.00') => {
    sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
    const input = { amount, customer_email: 'esi@example.com', phone: '0244000000', network: 'mtn' } as const;
    await payments.chargeMobileMoney(input, { idempotencyKey: key }).catch(() => undefined);
  };
  return { sandbox, journal, payments, staff, url, findReference, leaveUnresolved };
}

/** A member of the staff who sends forms by hand, as a browser or an attacker would. */
export class Member {
  readonly #url: string;
  #cookie = '';

  constructor(url: string) {
    this.#url = url;
  }

  get cookie(): string {
    return this.#cookie;
  }

  async logIn(email: string, password = PASSWORD): Promise<Response> {
    const response = await this.post('/admin/login', { email, password });
    const [cookie = ''] = response.headers.getSetCookie().map((line) => line.split(';', 1).join(''));
    this.#cookie = cookie;
    return response;
  }

  get(path: string): Promise<Response> {
    return fetch(this.#url + path, { headers: { cookie: this.#cookie }, redirect: 'manual' });
  }

  post(
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(this.#url + path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { cookie: this.#cookie, origin: this.#url, ...headers },
      redirect: 'manual',
    });
  }

  /** Returns the hidden fields of the forms on the page of a key. */
  async openEntry(key: string): Promise<{ key: string; token: string; seen: string }> {
    const text = await (await this.get(`/admin/keys/entry?key=${encodeURIComponent(key)}`)).text();
    const read = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';
    return { key, token: read('token'), seen: read('seen') };
  }

  async resolve(key: string, fields: Record<string, string>, headers?: Record<string, string>) {
    const hidden = await this.openEntry(key);
    return this.post('/admin/keys/entry', { ...hidden, reason: 'found', ...fields }, headers);
  }
}
