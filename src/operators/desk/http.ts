/** What the desk lets in, and how it responds. */

import { isObject } from '../../support/untrusted.ts';
import type { Authorization, ReviewDeskOptions } from './options.ts';

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // With `no-referrer` a browser would not send the origin of a form.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

export function respond(
  text: string | { toString(): string },
  { status = 200, type = 'text/html; charset=utf-8' }: { status?: number | undefined; type?: string } = {},
): Response {
  return new Response(String(text), { status, headers: { ...HEADERS, 'content-type': type } });
}

/** Leads to another page of the desk. Its address is relative: the desk does not know where it is mounted. */
export function seeOther(query: string): Response {
  return new Response(null, { status: 303, headers: { ...HEADERS, location: query } });
}

const REFUSALS = {
  'no authorize':
    'The review desk lets nobody in: give createReviewDesk an authorize function, which returns who sends a request.',
  'not authorized': 'You are not signed in, or may not decide about payments.',
  'another site': 'This form was sent by another site, or by no page at all. Nothing was changed.',
  method: 'The review desk takes GET and POST.',
  form: 'This form is not one of the review desk. Nothing was changed. If a body parser runs before the desk, mount the desk first.',
  'too large': 'This form is too large. Nothing was changed.',
} as const;

const STATUSES: Readonly<Record<keyof typeof REFUSALS, number>> = {
  'no authorize': 401,
  'not authorized': 401,
  'another site': 403,
  method: 405,
  form: 400,
  'too large': 413,
};

export function refuseRequest(why: keyof typeof REFUSALS): Response {
  const response = respond(`${REFUSALS[why]}\n`, {
    status: STATUSES[why],
    type: 'text/plain; charset=utf-8',
  });
  if (why === 'method') response.headers.set('allow', 'GET, HEAD, POST');
  return response;
}

/** Returns who sends a request, or what refuses it. */
export async function admit(
  request: Request,
  authorize: ReviewDeskOptions['authorize'],
): Promise<string | Response> {
  if (!authorize) return refuseRequest('no authorize');
  const by = await authorize(request);
  if (isResponse(by)) return by;
  const isName = typeof by === 'string' && /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(by.trim());
  return isName ? by.trim() : refuseRequest('not authorized');
}

/** By what it has: a framework can bring its own class. */
const isResponse = (value: Authorization): value is Response =>
  isObject(value) && 'status' in value && 'headers' in value;

/**
 * Whether a form was sent by a page of the desk. A browser says so in its Fetch metadata, but over plain http to another host only
 * in `Origin`. The schemes are not compared: behind a proxy the request of an https page arrives by http.
 */
export function isOwnForm({ headers, url }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('origin');
  if (origin === null || !URL.canParse(origin)) return false;
  return new URL(origin).host === (headers.get('host') ?? new URL(url).host);
}

/** More than a reason of 1,000 characters and the rest of a form, encoded. */
const MAX_FORM_BYTES = 32 * 1024;

export async function readForm(request: Request): Promise<URLSearchParams | Response> {
  const { body, bodyUsed, headers } = request;
  if (bodyUsed || !headers.get('content-type')?.startsWith('application/x-www-form-urlencoded'))
    return refuseRequest('form');
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_FORM_BYTES) return refuseRequest('too large');
    text += decoder.decode(chunk, { stream: true });
  }
  text += decoder.decode();
  return text === '' ? refuseRequest('form') : new URLSearchParams(text);
}
