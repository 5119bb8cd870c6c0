import type { OperationName } from '../api/operations.ts';
import type { DetectedMode } from '../api-key.ts';
import { ConfigurationError, InvalidInputError } from '../errors.ts';
import type { RecordName } from '../journal/names.ts';
import { createDigest } from '../support/digest.ts';
import { isRecord } from '../support/untrusted.ts';

/** @throws {ConfigurationError} if the key is not text, or text that a database could not keep. */
export function validateIdempotencyKey(key: unknown, operation: OperationName): void {
  if (typeof key === 'string' && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(key)) return;
  throw new ConfigurationError(
    'idempotencyKey must be text of 1 to 255 characters without control characters, such as "order-17".',
    { operation },
  );
}

/** Returns a digest that recognises the same input under the same name again, and does not reveal it. */
export async function createFingerprint(
  { kind, id }: RecordName,
  operation: OperationName,
  fields: object | undefined,
  currency: string,
): Promise<string> {
  // The name is the salt: equal inputs under two names have different fingerprints.
  const input = [kind, id, operation, { ...fields, currency }];
  return await createDigest('SHA-256', canonicalJson(operation, input));
}

/**
 * Returns JSON text that is the same for the same fields in any order.
 *
 * @throws {InvalidInputError} if the input is nested too deep to be written.
 */
function canonicalJson(operation: OperationName, input: unknown): string {
  try {
    return JSON.stringify(input, (_, value: unknown) => (isRecord(value) ? sortFields(value) : value));
  } catch {
    const message = 'is nested too deep to be recognised under an idempotencyKey';
    throw new InvalidInputError([{ path: 'extraBody', message, code: 'extra_body' }], operation);
  }
}

function sortFields(fields: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns the digest that identifies a service and mode in a journal, without revealing the address. */
export function digestService(baseUrl: string, mode: DetectedMode): Promise<string> {
  return createDigest('SHA-256', JSON.stringify([baseUrl, mode]));
}
