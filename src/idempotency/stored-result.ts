import type { CreateOperation } from '../api/operations.ts';
import type { AnyTransaction } from '../errors.ts';
import type { Redact } from '../redact.ts';

/** What decides how a result is stored and replayed. */
interface StoredCall<Input, Request extends object, Result> {
  readonly operation: CreateOperation<Input, Request, Result>;
  readonly request: Request;
}

/**
 * Returns what a replay needs of a result, or `undefined` if that must not be stored. The service might repeat phone and
 * email in its message, in other fields and in the checkout URL, so these are redacted. What identifies the transaction
 * is stored unchanged. The message is left out: it announces a prompt that a replay does not send.
 */
export function toStoredResult<Input, Request extends object, Result>(
  call: StoredCall<Input, Request, Result>,
  result: AnyTransaction,
  redact: Redact,
): { reference: string } | undefined {
  const { reference, amount, currency, ...others } = result;
  const isCharge = call.operation.name === 'chargeMobileMoney';
  const status = isCharge && 'status' in others ? { status: others.status } : {};
  const page = isCharge ? {} : { checkout_url: storableCheckoutUrl(others, redact) };
  const unchecked = {
    raw_status: undefined,
    ...others,
    replayed: undefined,
    ...(isCharge ? { message: undefined } : { checkout_url: undefined }),
  };
  const redacted = Object(redact.body({ text: '', json: truncateJson(unchecked) }));
  const stored = { ...redacted, ...page, reference, amount, currency, ...status };
  return parseStoredResult(call, stored) && stored;
}

/**
 * Returns a stored result as a replay; `undefined` if it is not one of this operation, or not of the requested amount and
 * currency.
 */
export function parseStoredResult<Input, Request extends object, Result>(
  { operation, request }: StoredCall<Input, Request, Result>,
  stored: object,
): Result | undefined {
  const result = operation.storedOutput.safeParse(stored);
  if (!result.success || operation.findMismatches(result.data, request).length > 0) return undefined;
  return result.data;
}

/**
 * Returns the address of a checkout page; `undefined` if it holds the customer's own email or an API key. It must not be
 * stored then, and would not open the page without them. Another email (`/@shop`, a help desk) is part of the address.
 */
function storableCheckoutUrl(result: object, redact: Redact): string | undefined {
  const address = 'checkout_url' in result ? result.checkout_url : undefined;
  if (typeof address !== 'string' || address.length > MAX_STORED_CHARS) return undefined;
  return redact.own(address) === address ? address : undefined;
}

/** How much text of a result is stored, in characters: all of it is searched for what must not be stored. */
const MAX_STORED_CHARS = 16 * 1024;
/** How many levels of a result are stored: as many as are searched. */
const MAX_DEPTH = 16;
/** What each value costs besides its text, in characters: many short ones take long too. */
const PER_VALUE_COST = 4;
const TOO_DEEP = '[nested too deep to show]';
const TOO_LONG = '[too long to keep]';

/**
 * Returns as much of a result as is stored, the first fields first. Text is stored whole or not at all: half an email or
 * half a key would not be found.
 */
function truncateJson(whole: object): unknown {
  let budget = MAX_STORED_CHARS;
  const consume = (text: string) => {
    const fits = text.length + PER_VALUE_COST <= budget;
    if (fits) budget -= text.length + PER_VALUE_COST;
    return fits;
  };

  const truncate = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return [value, TOO_LONG].find(consume);
    if (typeof value !== 'object' || value === null) return consume(String(value)) ? value : undefined;
    if (depth === MAX_DEPTH) return [TOO_DEEP].find(consume);
    if (!consume('')) return undefined;
    return Array.isArray(value) ? truncateItems(value, depth + 1) : truncateFields(value, depth + 1);
  };

  const truncateItems = (list: unknown[], depth: number): unknown[] =>
    list.map((item) => truncate(item, depth)).filter((item) => item !== undefined);

  const truncateFields = (object: object, depth: number): object => {
    const kept = Object.entries(object).flatMap(([name, value]) => {
      const item = value !== undefined && consume(name) ? truncate(value, depth) : undefined;
      return item === undefined ? [] : [[name, item]];
    });
    return Object.fromEntries(kept);
  };

  return truncate(whole, 0);
}
