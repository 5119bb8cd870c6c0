import { orUndefined } from './untrusted.ts';

/**
 * Returns the digest of a text in hexadecimal. Web Crypto, which every runtime has, uses another thread, and that costs more
 * than the digest, so Node's own is preferred. SHA-1 is for names that others have chosen, such as those of Redis for its
 * scripts: it protects nothing.
 */
export async function createDigest(algorithm: 'SHA-1' | 'SHA-256', text: string): Promise<string> {
  const name = algorithm === 'SHA-1' ? 'sha1' : 'sha256';
  const own = orUndefined(() => globalThis.process.getBuiltinModule('node:crypto').hash(name, text));
  if (own !== undefined) return own;
  const bytes = await crypto.subtle.digest(algorithm, new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
