import type { CreateOperation, OperationName } from '../api/operations.ts';
import { DEFAULT_CURRENCY } from '../api/operations.ts';
import type { AnyTransaction } from '../errors.ts';
import { ConfigurationError, InvalidInputError } from '../errors.ts';
import type { Call } from '../http/call.ts';
import type { ChargeIntent } from '../journal/record.ts';
import type { CreateOptions, Mode } from '../options.ts';
import { isObject, parseJson } from '../untrusted.ts';

/** A request that creates a transaction. */
export interface CreateRequest {
  amount: number;
  currency?: string | undefined;
}

/** A call that creates a transaction, checked and ready. */
export type CreateCall<Input, Request extends CreateRequest, Result extends AnyTransaction> = Call<
  Input,
  Request,
  Result
> & { operation: CreateOperation<Input, Request, Result> };

/** What the journal is told of a call: whose input it was can be recognised, and cannot be read. `service`: its digest. */
export async function createIntent<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  key: string,
  { operation, request, body }: CreateCall<Input, Request, Result>,
  service: string,
): Promise<ChargeIntent> {
  if (operation.name === 'verify') throw new ConfigurationError('A read needs no idempotencyKey.');
  const { amount, currency = DEFAULT_CURRENCY } = request;
  const fields = parseJson(body);
  const sent = { ...(isObject(fields) ? fields : {}), currency };
  return {
    operation: operation.name,
    service,
    // The key is the salt: equal inputs under two keys do not look alike.
    fingerprint: await sha256(canonicalJson(operation.name, [key, operation.name, sent])),
    amount: amount.toFixed(2),
    currency,
  };
}

/** @throws InvalidInputError where it is nested too deep to be written */
function canonicalJson(operation: OperationName, input: unknown): string {
  try {
    return JSON.stringify(canonical(input));
  } catch {
    const message = 'is nested too deep to be recognised under an idempotencyKey';
    throw new InvalidInputError([{ path: 'extraBody', message, code: 'extra_body' }], operation);
  }
}

/** The same for the same fields in any order. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, canonical(item)]));
}

/** In hexadecimal. */
async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The key that a call was given; `null` for none. A key that is missing by mistake would silently charge twice.
 *
 * @throws ConfigurationError if the call does not say which it means
 */
export function givenKey(
  options: CreateOptions,
  operation: OperationName,
  hasJournal: boolean,
): string | null {
  const { idempotencyKey } = options;
  if (idempotencyKey !== undefined) return idempotencyKey;
  const hint = 'Nothing was sent. Give one, such as "order-17/1", or null for none on purpose.';
  if (Object.hasOwn(options, 'idempotencyKey'))
    throw new ConfigurationError(`${operation}: idempotencyKey is undefined. ${hint}`, { operation });
  if (hasJournal && operation === 'chargeMobileMoney')
    throw new ConfigurationError(
      `${operation}: a client with a journal needs an idempotencyKey for each charge. ${hint}`,
      { operation },
    );
  return null;
}

/** @throws ConfigurationError where a key could not be kept by every database, or is none */
export function validateIdempotencyKey(key: unknown, operation: OperationName): string {
  if (typeof key === 'string' && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(key)) return key;
  throw new ConfigurationError(
    'idempotencyKey must be text of 1 to 255 characters without control characters, such as "order-17".',
    { operation },
  );
}

/** Names a service and mode in a journal. Whoever reads the journal learns no address from it. */
export function serviceDigest(baseUrl: string, mode: Mode): Promise<string> {
  return sha256(JSON.stringify([baseUrl, mode]));
}
