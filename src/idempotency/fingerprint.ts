import type { CreateOperation, OperationName } from '../api/operations.ts';
import { DEFAULT_CURRENCY } from '../api/operations.ts';
import { createDigest } from '../digest.ts';
import { ConfigurationError, InvalidInputError } from '../errors.ts';
import type { Call } from '../http/call.ts';
import type { ChargeIntent, OrderMark } from '../journal/record.ts';
import type { Mode } from '../options.ts';
import { isRecord } from '../untrusted.ts';

/** What is read of a request that creates a transaction. */
export interface CreateRequest {
  readonly amount: number;
  readonly currency?: string | undefined;
  readonly customer_email: string;
  readonly phone?: string | undefined;
  readonly network?: string | undefined;
}

/** A validated call, and the key that it is recorded under. */
export interface KeyedCall<Input, Request extends CreateRequest, Result> {
  /** As the caller gave it. */
  readonly idempotencyKey: string;
  /** If the payment is one of an order. */
  readonly order: OrderMark | undefined;
  /**
   * Runs once the key is claimed, with the number of calls under it, and before anything is sent. If it rejects, nothing is
   * sent, and the key is free again.
   */
  readonly confirm?: ((attempts: number) => Promise<void>) | undefined;
  readonly operation: CreateOperation<Input, Request, Result>;
  readonly call: Call<Input, Request, Result>;
}

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
export async function createIntent<Input, Request extends CreateRequest, Result>(
  { idempotencyKey, order, operation, call }: KeyedCall<Input, Request, Result>,
  service: string,
  requestId: string,
): Promise<ChargeIntent> {
  if (operation.name === 'verify') throw new ConfigurationError('A read needs no idempotencyKey.');
  const { amount, currency = DEFAULT_CURRENCY, network } = call.request;
  const sent = { ...call.fields, currency };
  return {
    operation: operation.name,
    service,
    // The key is the salt: equal inputs under two keys have different fingerprints.
    fingerprint: await createDigest(
      'SHA-256',
      canonicalJson(operation.name, [idempotencyKey, operation.name, sent]),
    ),
    amount: amount.toFixed(2),
    currency,
    network,
    order,
    requestId,
  };
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
export function digestService(baseUrl: string, mode: Mode): Promise<string> {
  return createDigest('SHA-256', JSON.stringify([baseUrl, mode]));
}
