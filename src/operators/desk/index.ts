/**
 * What needs a person: looked into and decided in the shop's own admin.
 *
 * @module payment-collection-client/review
 */

import { decide } from './decide.ts';
import { admit, isOwnForm, readForm, refuseRequest, respond, seeOther } from './http.ts';
import { type ReviewDeskOptions, validateReviewDeskOptions } from './options.ts';
import { findSubjects, linkTo, linkToDone, listItems, parseSubject, readSubject } from './read.ts';
import { renderFound, renderList, renderSubject } from './render.ts';
import { deskAssets } from './style.ts';

export type { Authorization, ReviewDeskOptions } from './options.ts';

/** Handles a request of your admin: see {@link createReviewDesk}. */
export type ReviewDesk = (request: Request) => Promise<Response>;

/**
 * Creates the review desk: pages that list what needs a person, find an order by its id, and record what that person decides
 * once the service was asked. It is a handler of the Fetch API for one route of your admin: its pages and forms differ in the
 * query alone, so it works at any path. They need no JavaScript and show no API key, phone number or email of a customer.
 *
 * A request of another site changes nothing. Without `authorize` everybody gets 401.
 *
 * @throws {ConfigurationError} if an option is unknown or cannot work.
 *
 * @example
 * ```ts
 * const desk = createReviewDesk({
 *   payments,
 *   journal,
 *   orderPayments,
 *   authorize: ({ headers }) => headers.get('x-signed-in-user'), // set by the proxy that signs your staff in
 * });
 * const response = await desk(new Request('https://shop.example/admin/payments'));
 * ```
 */
export function createReviewDesk(options: ReviewDeskOptions): ReviewDesk {
  const { authorize, ...sources } = validateReviewDeskOptions(options);
  return async (request) => {
    const by = await admit(request, authorize);
    if (typeof by !== 'string') return by;
    const { method, url } = request;
    const query = new URL(url).searchParams;
    if (method === 'POST')
      return isOwnForm(request) ? await post(request, query, by) : refuseRequest('another site');
    if (method !== 'GET' && method !== 'HEAD') return refuseRequest('method');
    const page = await get(query);
    return method === 'HEAD' ? new Response(null, page) : page;
  };

  async function get(query: URLSearchParams): Promise<Response> {
    const asset = deskAssets.get(query.get('asset') ?? '');
    if (asset) return respond(asset.text, { type: asset.type });
    const text = query.get('find')?.trim();
    if (text) return await find(text);
    const page = parseSubject(query);
    if (page) {
      const subject = await readSubject(sources, page, query.get('done') ?? undefined);
      return respond(renderSubject(subject), { status: subject.status });
    }
    const list = await listItems(sources, query);
    return respond(renderList(list), { status: list.problem === undefined ? 200 : 503 });
  }

  async function find(text: string): Promise<Response> {
    const found = await findSubjects(sources, text);
    const [only, ...others] = found.names;
    if (only && others.length === 0) return seeOther(linkTo(only));
    return respond(renderFound(text, found), { status: only ? 200 : 404 });
  }

  async function post(request: Request, query: URLSearchParams, by: string): Promise<Response> {
    const page = parseSubject(query);
    if (!page) return refuseRequest('form');
    const form = await readForm(request);
    if (form instanceof Response) return form;
    const decided = await decide(sources, form, by);
    if ('entry' in decided) return seeOther(linkToDone(page, decided.entry));
    const subject = await readSubject(sources, page);
    return respond(renderSubject({ ...subject, refused: decided }), { status: decided.status });
  }
}
