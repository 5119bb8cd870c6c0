import type { Mode } from '../options.ts';
import { sha256 } from './attempt.ts';

/** Names a service and mode in a journal. Whoever reads the journal learns no address from it. */
export function serviceDigest(baseUrl: string, mode: Mode): Promise<string> {
  return sha256(JSON.stringify([baseUrl, mode]));
}
