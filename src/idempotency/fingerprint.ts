import { DEFAULT_CURRENCY, type OperationName } from '../api/operations.ts';
import type { AnyTransaction } from '../errors.ts';
import { ConfigurationError, InvalidInputError } from '../errors.ts';
import type { ChargeIntent } from '../journal/record.ts';
import type { Mode } from '../options.ts';
import { parseJson } from '../untrusted.ts';
import type { CreateRequest, KeyedCall } from './keyed-call.ts';

/** @throws {ConfigurationError} if the key is not text, or text that a database could not keep. */
export function validateIdempotencyKey(key: unknown, operation: OperationName): void {
  if (typeof key === 'string' && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(key)) return;
  throw new ConfigurationError(
    'idempotencyKey must be text of 1 to 255 characters without control characters, such as "order-17".',
    { operation },
  );
}

/**
 * Returns what the journal records before the request is sent. Its fingerprint recognises the same input again, and does
 * not reveal it.
 */
export async function createIntent<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  { idempotencyKey, operation, request, body }: KeyedCall<Input, Request, Result>,
  service: string,
  requestId: string,
): Promise<ChargeIntent> {
  if (operation.name === 'verify') throw new ConfigurationError('A read needs no idempotencyKey.');
  const { amount, currency = DEFAULT_CURRENCY, network } = request;
  const sent: object = { ...Object(parseJson(body ?? '{}')), currency };
  return {
    operation: operation.name,
    service,
    // The key is the salt: equal inputs under two keys have different fingerprints.
    fingerprint: await sha256(canonicalJson(operation.name, [idempotencyKey, operation.name, sent])),
    amount: amount.toFixed(2),
    currency,
    network,
    requestId,
  };
}

/** @throws {InvalidInputError} if the input is nested too deep to be written. */
function canonicalJson(operation: OperationName, input: unknown): string {
  try {
    return JSON.stringify(sortFields(input));
  } catch {
    const message = 'is nested too deep to be recognised under an idempotencyKey';
    throw new InvalidInputError([{ path: 'extraBody', message, code: 'extra_body' }], operation);
  }
}

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortFields(item)]));
}

/** Returns the digest that identifies a service and mode in a journal, without revealing the address. */
export function digestService(baseUrl: string, mode: Mode): Promise<string> {
  return sha256(JSON.stringify([baseUrl, mode]));
}

/** Returns the digest in hexadecimal. */
async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
