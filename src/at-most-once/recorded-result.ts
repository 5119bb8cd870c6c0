import type { CreateOperation } from '../contract/operation.ts';
import type { Redact } from '../redact.ts';
import type { AnyTransaction } from '../request-errors.ts';
import { stringField } from '../transport/request.ts';
import { MAX_STORED_CHARS, truncateJson } from './fitting.ts';

/**
 * What a later call needs of a result, or `undefined` if that cannot be kept. The service may repeat phone and email in
 * its message, in other fields and in the address of the checkout page. What tells the transaction is kept as it is. The
 * message is not kept: it tells of a prompt that a replay does not send.
 */
export function toStoredResult<Input, Request extends object, Result>(
  call: { operation: CreateOperation<Input, Request, Result>; request: Request },
  result: AnyTransaction,
  redact: Redact,
): { reference: string } | undefined {
  const { reference, amount, currency, ...others } = result;
  const isCharge = call.operation.name === 'chargeMobileMoney';
  const status = isCharge && 'status' in others ? { status: others.status } : {};
  const page = isCharge ? {} : { checkout_url: checkoutUrlWithoutSecrets(others, redact) };
  const foreign = {
    raw_status: undefined,
    ...others,
    replayed: undefined,
    ...(isCharge ? { message: undefined } : { checkout_url: undefined }),
  };
  const clean = Object(redact.body({ text: '', json: truncateJson(foreign) }));
  const kept = { ...clean, ...page, reference, amount, currency, ...status };
  return parseStoredResult(call, kept) && kept;
}

/**
 * The address of a checkout page; `undefined` if it holds the customer's own email or a key. It must not be stored then,
 * and would not lead to the page without them. An email of another (`/@shop`, the address of a help desk) belongs to it.
 */
function checkoutUrlWithoutSecrets(result: object, redact: Redact): string | undefined {
  const address = stringField(result, 'checkout_url') ?? '';
  return address.length > MAX_STORED_CHARS || redact.own(address) !== address ? undefined : address;
}

/**
 * A recorded result as a replay; `undefined` if it is none of this operation, or not of the amount and currency that
 * are asked for.
 */
export function parseStoredResult<Input, Request extends object, Result>(
  { operation, request }: { operation: CreateOperation<Input, Request, Result>; request: Request },
  recorded: object,
): Result | undefined {
  const result = operation.recorded.safeParse(recorded);
  if (!result.success || operation.mismatches(result.data, request).length > 0) return undefined;
  return result.data;
}
