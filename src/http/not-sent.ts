import type { Transport } from '../options.ts';
import { isError } from '../support/sanitize-error.ts';
import { isObject } from '../support/untrusted.ts';

/**
 * Proof that no request left this process: which errors prove it, and whose errors can be trusted to be about the
 * request itself.
 */

/** Name lookups that failed, and connections, or tunnels through a proxy, that were refused or not made in time. */
const NO_CONNECTION = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_CONN',
  'UND_ERR_PRX_TLS',
]);

/** This process refused the server's certificate, before it could write the first byte of a request. */
const CERTIFICATE_REFUSED = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Returns whether an error proves that no request left this process. Only known proof counts. A reset proves nothing,
 * not even one in the TLS handshake. An error without a code proves nothing either.
 *
 * @param url the address of the request, if code of the merchant sent it. That code might also have connected elsewhere,
 * so only an error that names this host and this port counts.
 */
export function isProvenNotSent(error: unknown, url?: URL, depth = 0): boolean {
  if (!isError(error) || depth > 8) return false;
  // Several addresses were tried. The error has the code of one of them, but each has to be proof.
  if ('errors' in error && Array.isArray(error.errors)) {
    return error.errors.length > 0 && error.errors.every((member) => isProvenNotSent(member, url, depth + 1));
  }
  const isConnect = 'syscall' in error && error.syscall === 'connect';
  // Fetch itself refuses some ports, with an error that has no code.
  const isBadPort = error.message === 'bad port';
  // undici wraps some errors in a DOMException, whose code is 0.
  const code = 'code' in error && error.code !== 0 ? error.code : undefined;
  if (!(isConnect || isBadPort || code !== undefined)) return isProvenNotSent(error.cause, url, depth + 1);
  if (url && !namesTarget(error, url)) return false;
  return (
    isConnect || isBadPort || isProof(code) || (code === 'UND_ERR_ABORTED' && NO_TUNNEL.test(error.message))
  );
}

function isProof(code: unknown): boolean {
  return typeof code === 'string' && (NO_CONNECTION.has(code) || CERTIFICATE_REFUSED.has(code));
}

/** A proxy refused CONNECT, so undici has no connection over which it could send the request. */
const NO_TUNNEL = /^Proxy response \(\d+\) !== 200 when HTTP Tunneling$/;

/**
 * Returns whether an error names this host and this port. A name can resolve to any address, so an address matches only
 * if the URL has that very address, or a name of this machine.
 */
function namesTarget(error: object, { hostname, port, protocol }: URL): boolean {
  const expectedPort = port || (protocol === 'https:' ? '443' : '80');
  if (!('port' in error && String(error.port) === expectedPort)) return false;
  const names = [
    'hostname' in error ? error.hostname : undefined,
    'host' in error ? error.host : undefined,
  ].filter((name) => name !== undefined);
  const addresses = 'address' in error && error.address !== undefined ? [error.address] : [];
  if (names.length + addresses.length === 0) return false;
  return (
    names.every((name) => normalizeHostname(name) === hostname) &&
    addresses.every((address) => isAddressFor(normalizeHostname(address), hostname))
  );
}

function isAddressFor(address: string | undefined, hostname: string): boolean {
  if (address === hostname) return true;
  const isLocalhost = hostname === 'localhost' || hostname.endsWith('.localhost');
  return isLocalhost && (address === '127.0.0.1' || address === '[::1]');
}

/** As a URL has it: in lower case, and an IPv6 address in brackets. */
function normalizeHostname(host: unknown): string | undefined {
  if (typeof host !== 'string') return undefined;
  const address = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`;
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

/** The same in the ES module, the CommonJS build and each entry point: one might get a transport of another. */
const MARK = Symbol.for('payment-collection-client/own-connections');

type TransportSend = Transport['send'];

/**
 * Marks the `send` of a transport whose errors can only come from its own connections to the service. A function that
 * wraps `send` is another function, so it does not inherit the mark.
 *
 * @param isOwn is called before each attempt.
 */
export function markOwnConnections(send: TransportSend, isOwn: () => boolean): TransportSend {
  return Object.defineProperty(send, MARK, { value: { send, isOwn } });
}

/**
 * Returns whether an error of this transport can only be about the request itself. Code of the merchant around a request
 * can make requests of its own, and if one of those is refused, that proves nothing about the charge.
 */
export function hasOwnConnections({ send }: Transport): boolean {
  const mark: unknown = Reflect.get(send, MARK);
  if (!isObject(mark) || !('send' in mark && 'isOwn' in mark)) return false;
  // A Proxy has the mark of its target, which is another function.
  return mark.send === send && typeof mark.isOwn === 'function' && mark.isOwn() === true;
}

/**
 * Returns whether `globalThis.fetch` is Node's own, which connects to the service and to nothing else. A framework or a
 * test can replace it before this package is loaded, so only its source is proof.
 */
export function isNodesOwnFetch(): boolean {
  return isNodesFetch(globalThis.fetch) && GLOBAL_DISPATCHERS.every(isPlainDispatcher);
}

const knownFetches = new WeakMap<object, boolean>();

function isNodesFetch(fetch: unknown): boolean {
  if (typeof fetch !== 'function') return false;
  const known = knownFetches.get(fetch);
  if (known !== undefined) return known;
  const source = Function.prototype.toString.call(fetch);
  const isNodes = /\brequire\('internal\/deps\/undici\/undici'\)/.test(source);
  knownFetches.set(fetch, isNodes);
  return isNodes;
}

/** Where undici's `setGlobalDispatcher` puts the dispatcher that Node's fetch uses: the second since undici 8. */
const GLOBAL_DISPATCHERS = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) =>
  Symbol.for(name),
);

/** undici's classes that only connect. The last one adapts a dispatcher of undici 8 to Node's own undici 7. */
const PLAIN_DISPATCHERS = ['Agent', 'ProxyAgent', 'EnvHttpProxyAgent', 'Dispatcher1Wrapper'];

/** An interceptor replaces the `dispatch` of the dispatcher that it is composed into. */
function isPlainDispatcher(key: symbol): boolean {
  const dispatcher: unknown = Reflect.get(globalThis, key);
  if (dispatcher === undefined) return true;
  if (!isObject(dispatcher)) return false;
  const prototype: unknown = Object.getPrototypeOf(dispatcher);
  if (!isObject(prototype)) return false;
  if (Reflect.get(dispatcher, 'dispatch') !== Reflect.get(prototype, 'dispatch')) return false;
  return PLAIN_DISPATCHERS.includes(prototype.constructor.name);
}
