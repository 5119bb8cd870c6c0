import type { Request, RequestHandler } from 'express';

/** Without a script of its own, a page needs no permission to run any: markup in a key could do nothing. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Sets the headers of every admin page. */
export const setSecurityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // With `no-referrer` the browser would send `Origin: null` with the forms of these pages.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  next();
};

/** Refuses a form that another site sends in the name of the person who is logged in here. */
export const refuseOtherOrigins: RequestHandler = (request, response, next) => {
  if (request.method === 'GET' || request.method === 'HEAD' || isSameOrigin(request)) return next();
  response.status(403).type('text').send('This form was sent by another site. Nothing was changed.');
};

/** Every browser sends `Origin` with a form. Behind a proxy, `request.host` needs Express's setting "trust proxy". */
function isSameOrigin({ headers, host }: Request): boolean {
  const { origin = '', 'sec-fetch-site': site = 'same-origin' } = headers;
  return site === 'same-origin' && URL.canParse(origin) && new URL(origin).host === host;
}
