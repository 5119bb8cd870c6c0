import { isError } from '../sanitize-error.ts';

/** Name look-ups that failed, and a connection that did not come about in time. */
const NO_CONNECTION = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The server's certificate was refused here, before the first byte of a request could be written. */
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
 * Whether an error proves that no request left this process. Only what is known to prove it counts: a reset, also one
 * in the TLS handshake, proves nothing, and neither does an error without a code.
 *
 * @param url the address of the request, if code of the merchant sent it: that code might have connected elsewhere too,
 * so only an error that names this host and this port counts
 */
export function isProvenNotSent(error: unknown, url?: URL, depth = 0): boolean {
  if (!isError(error) || depth > 8) return false;
  // Several addresses were tried: the error bears the code of one of them, but each has to be proof.
  if ('errors' in error && Array.isArray(error.errors)) {
    return error.errors.length > 0 && error.errors.every((member) => isProvenNotSent(member, url, depth + 1));
  }
  const isConnect = 'syscall' in error && error.syscall === 'connect';
  // Fetch refuses some ports by itself, and says so without a code.
  const isBadPort = error.message === 'bad port';
  if (!(isConnect || isBadPort || 'code' in error)) return isProvenNotSent(error.cause, url, depth + 1);
  if (url && !isAbout(error, url)) return false;
  return isConnect || isBadPort || ('code' in error && isProof(error.code));
}

function isProof(code: unknown): boolean {
  return typeof code === 'string' && (NO_CONNECTION.has(code) || CERTIFICATE_REFUSED.has(code));
}

/**
 * Whether an error names this host and this port. A name may resolve to any address, so an address is matched only if
 * the URL has that very address, or a name of this machine.
 */
function isAbout(error: object, { hostname, port, protocol }: URL): boolean {
  const expectedPort = port || (protocol === 'https:' ? '443' : '80');
  if (!('port' in error && String(error.port) === expectedPort)) return false;
  const names = [
    'hostname' in error ? error.hostname : undefined,
    'host' in error ? error.host : undefined,
  ].filter((name) => name !== undefined);
  const addresses = 'address' in error && error.address !== undefined ? [error.address] : [];
  if (names.length + addresses.length === 0) return false;
  return (
    names.every((name) => hostnameOf(name) === hostname) &&
    addresses.every((address) => isAddressOf(hostnameOf(address), hostname))
  );
}

function isAddressOf(address: string | undefined, hostname: string): boolean {
  if (address === hostname) return true;
  const isLocalhost = hostname === 'localhost' || hostname.endsWith('.localhost');
  return isLocalhost && (address === '127.0.0.1' || address === '[::1]');
}

/** As a URL writes it: in lower case, and an IPv6 address in brackets. */
function hostnameOf(host: unknown): string | undefined {
  if (typeof host !== 'string') return undefined;
  const address = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`;
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}
