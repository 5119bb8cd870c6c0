import { isIP } from 'node:net';

/** What the sandbox cannot do as it was asked to: the message is all that whoever started it needs. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
}

/** Where the sandbox is reached that listens there. */
export function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** A public address as it was given: `https://pay.shop.test:8443`, without a path. */
export function publicOrigin(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new SandboxError(
    `The public address must be http or https, a host and perhaps a port, not "${address}".`,
  );
}

/**
 * Whether a request asks for this sandbox. A page of another site whose name was made to point at this machine ("DNS
 * rebinding") could otherwise read and press everything here, as if it were of this origin.
 */
export function isOwnHost(hostname: string, ownUrl: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    isIP(host) !== 0 ||
    hostname === new URL(ownUrl).hostname
  );
}
