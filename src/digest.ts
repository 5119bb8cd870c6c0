/** Digests by Web Crypto, which every runtime has. */

/**
 * Returns the digest of a text in hexadecimal. SHA-1 is for names that others have chosen, such as those of Redis for its
 * scripts: it protects nothing.
 */
export async function createDigest(algorithm: 'SHA-1' | 'SHA-256', text: string): Promise<string> {
  const bytes = await crypto.subtle.digest(algorithm, new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
