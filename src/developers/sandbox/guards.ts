/**
 * Keeps other websites out. A browser can send their requests to this machine, without its user's knowledge.
 *
 * `ownUrl` is the address of the sandbox. Behind a TLS proxy a request arrives as http, and its origin is
 * https.
 */

import { isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { HttpRejection, isJsonType } from '../service/validate-request.ts';

/**
 * Refuses a request that does not name this sandbox as its host. Another site can make its own name point to this machine ("DNS
 * rebinding"). Its page would then have the origin of the sandbox, and could read and press everything.
 */
export function refuseOtherHosts(ownUrl: string, allowHosts: readonly string[]): MiddlewareHandler {
  const own = new URL(ownUrl).hostname;
  return async (c, next) => {
    const { hostname, host } = new URL(c.req.url);
    const name = hostname.replace(/^\[|\]$/g, '');
    const isLocal = name === 'localhost' || name.endsWith('.localhost') || isIP(name) !== 0;
    if (isLocal || hostname === own || allowHosts.includes(hostname)) return next();
    return c.text(
      `This sandbox does not accept the name ${host}. To allow it: --allow-host ${hostname}`,
      421,
    );
  };
}

const isOwnOrigin = (origin: string, ownUrl: string, requestUrl: string) =>
  origin === ownUrl || origin === new URL(requestUrl).origin;

export function refuseOtherForms(ownUrl: string): MiddlewareHandler {
  return csrf({ origin: (origin, c) => isOwnOrigin(origin, ownUrl, c.req.url) });
}

export function isForeignForm(error: unknown): boolean {
  return error instanceof HTTPException && error.status === 403;
}

/**
 * Refuses the writes of other sites to the API for scripts.
 *
 * A write needs the content type of JSON: a browser then first asks for permission, which no response gives. No response
 * has a CORS header, so that no other page can read it.
 */
export function refuseOtherScripts(ownUrl: string): MiddlewareHandler {
  return async (c, next) => {
    c.header('cache-control', 'no-store');
    c.header('cross-origin-resource-policy', 'same-origin');
    c.header('x-content-type-options', 'nosniff');
    const { method, url } = c.req;
    if (method === 'GET' || method === 'HEAD') return next();
    const origin = c.req.header('origin');
    const site = c.req.header('sec-fetch-site') ?? 'none';
    const isOwn = origin === undefined || isOwnOrigin(origin, ownUrl, url);
    if (!isOwn || (site !== 'same-origin' && site !== 'none')) {
      throw new HttpRejection(403, 'Pages of other websites cannot use this API.');
    }
    if (!isJsonType(c.req.header('content-type')) && (method === 'POST' || method === 'PUT')) {
      throw new HttpRejection(415, 'The Content-Type must be application/json, also without a body.');
    }
    return next();
  };
}

/** What a browser lets the pages do: load their own files, and send forms to the sandbox alone. */
export const pageHeaders = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  // With `no-referrer` a browser would not send the origin of a form.
  referrerPolicy: 'same-origin',
  // The sandbox is plain HTTP, and other programs use the same host name.
  strictTransportSecurity: false,
});
