import type { CreateOperation } from '../api/operations.ts';
import type { AnyTransaction } from '../errors.ts';
import type { Redact } from '../redact.ts';
import { stringField } from '../untrusted.ts';

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

/** So much of an answer's text is kept, in characters: all of it has to be searched for what must not be stored. */
const MAX_STORED_CHARS = 16 * 1024;
/** As many levels as are searched. */
const MAX_DEPTH = 16;
const TOO_DEEP = '[nested too deep to show]';
const TOO_LONG = '[too long to keep]';
/** Of each value besides its text: many short ones take long too. */
const PER_VALUE_COST = 4;

/**
 * As much of it as is kept, the first fields first. Text is kept whole or not at all: in half of it, half an email or
 * half a key would not be found.
 */
function truncateJson(whole: object): unknown {
  let budget = MAX_STORED_CHARS;
  const consume = (text: string) => {
    const fits = text.length + PER_VALUE_COST <= budget;
    if (fits) budget -= text.length + PER_VALUE_COST;
    return fits;
  };

  const part = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return [value, TOO_LONG].find(consume);
    if (typeof value !== 'object' || value === null) return consume(String(value)) ? value : undefined;
    if (depth === MAX_DEPTH) return [TOO_DEEP].find(consume);
    if (!consume('')) return undefined;
    return Array.isArray(value) ? items(value, depth + 1) : fields(value, depth + 1);
  };

  const items = (list: unknown[], depth: number): unknown[] =>
    list.map((item) => part(item, depth)).filter((item) => item !== undefined);

  const fields = (object: object, depth: number): object => {
    const kept = Object.entries(object).flatMap(([name, value]) => {
      const item = value !== undefined && consume(name) ? part(value, depth) : undefined;
      return item === undefined ? [] : [[name, item]];
    });
    return Object.fromEntries(kept);
  };

  return part(whole, 0);
}
