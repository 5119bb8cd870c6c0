/** Webhooks in the forms in which a shop hands them over: nothing of them is documented. */

import type { Random } from './random.ts';

/** Returns a body that names a transaction, or none. */
export function createBody(random: Random, reference: string | undefined): unknown {
  if (reference === undefined)
    return random.pick([() => undefined, () => ({}), () => '', () => Buffer.from('{"event":"ping"}')])();
  const parsed = { event: 'charge.success', data: { id: 17, reference } };
  const text = JSON.stringify(parsed);
  return random.pick([
    () => reference,
    () => parsed,
    () => ({ body: { payload: [parsed] } }),
    () => text,
    () => Buffer.from(text),
    () => new TextEncoder().encode(text).buffer,
    () => new URLSearchParams({ status: 'success', reference }),
    () => ({ isBase64Encoded: true, body: btoa(text) }),
  ])();
}
