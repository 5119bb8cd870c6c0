import { createReviewDesk, type ReviewDeskOptions } from '../../../../src/operators/desk/index.ts';
import type { JournalStore } from '../../../../src/stores/index.ts';
import { momo, world } from '../../../helpers/world.ts';

export const KOFI = 'kofi@shop.example';
const ADDRESS = 'https://shop.example/admin/payments';
const OWN_PAGE = { 'sec-fetch-site': 'same-origin', origin: 'https://shop.example' };

/** What a page shows. */
export interface Shown {
  readonly status: number;
  readonly html: string;
  readonly headers: Headers;
}

/** Opens the desk of a shop, and a browser that knows no script. */
export function openDesk(options: Partial<ReviewDeskOptions> = {}, store?: JournalStore) {
  const shop = world({ ...(store && { store }) });
  const { payments, journal, orders } = shop.shop;
  const desk = createReviewDesk({
    payments,
    journal,
    orderPayments: orders,
    authorize: () => KOFI,
    ...options,
  });
  const own = { ...orders, payments, journal };

  /** Opens a page, and follows where it leads. */
  async function open(query: string, init?: RequestInit): Promise<Shown> {
    const url = new URL(query, ADDRESS);
    const response = await desk(new Request(url, init));
    const { status, headers } = response;
    const location = headers.get('location');
    if (status === 303 && location !== null) return await open(new URL(location, url).search);
    return { status, headers, html: await response.text() };
  }

  /** Fills in a form of a page, and presses its button. */
  async function decide(
    query: string,
    offer: string,
    typed: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = OWN_PAGE,
  ): Promise<Shown> {
    const { html } = await open(query);
    return await send(query, { ...findForm(html, offer), ...typed }, headers);
  }

  async function send(
    query: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = OWN_PAGE,
  ): Promise<Shown> {
    return await open(query, { method: 'POST', headers, body: new URLSearchParams(fields) });
  }

  /** Leaves an order whose charge was accepted, and whose response was lost. Returns the transaction. */
  async function loseResponse(order: string): Promise<string> {
    shop.service.fault('chargeMobileMoney', { kind: 'responseLost' });
    await own.charge(order, momo);
    return shop.service.transactions.at(-1)?.reference ?? '';
  }

  return { shop, own, desk, open, decide, send, loseResponse };
}

/** Returns the hidden fields of a form, as a browser sends them. */
function findForm(html: string, offer: string): Record<string, string> {
  const forms = html.split('<form method="post"').slice(1);
  const form = forms.find((text) => text.includes(`name="offer" value="${offer}"`));
  if (form === undefined) throw new Error(`there is no form for ${offer}`);
  const fields = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, unescapeHtml(value)]));
}

const unescapeHtml = (text: string) =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
