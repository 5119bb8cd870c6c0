import { isError } from '../printable.ts';

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
 */
export function wasNeverSent(error: unknown, depth = 0): boolean {
  if (!isError(error) || depth > 8) return false;
  // Several addresses were tried: the error bears the code of one of them, but each has to be proof.
  if ('errors' in error && Array.isArray(error.errors)) {
    return error.errors.length > 0 && error.errors.every((member) => wasNeverSent(member, depth + 1));
  }
  if ('syscall' in error && error.syscall === 'connect') return true;
  // Fetch refuses some ports by itself, and says so without a code.
  if (error.message === 'bad port') return true;
  if (!('code' in error)) return wasNeverSent(error.cause, depth + 1);
  return (
    typeof error.code === 'string' && (NO_CONNECTION.has(error.code) || CERTIFICATE_REFUSED.has(error.code))
  );
}
