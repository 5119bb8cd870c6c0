import type { Operation } from '../contract/operation.ts';
import type { Redact } from '../redact.ts';
import type { AnyTransaction } from '../request-errors.ts';
import { textField } from '../transport/request.ts';
import { fitting, LONGEST_KEPT } from './fitting.ts';

/**
 * What a later call needs of a result, or `undefined` where that cannot be kept. The service may repeat phone and email
 * in its message, in other fields and in the address of the checkout page; what tells the transaction is kept as it is.
 */
export function recordable<Input, Request extends object, Result>(
  call: { operation: Operation<Input, Request, Result>; request: Request },
  result: AnyTransaction,
  redact: Redact,
): { reference: string } | undefined {
  const { reference, amount, currency, ...others } = result;
  const isCharge = call.operation.name === 'chargeMobileMoney';
  const status = isCharge && 'status' in others ? { status: others.status } : {};
  const page = isCharge ? {} : { checkout_url: pageWithout(call.request, others, redact) };
  const foreign = {
    raw_status: undefined,
    message: undefined,
    ...others,
    ...(isCharge ? {} : { checkout_url: undefined }),
  };
  const clean = Object(redact.body({ text: '', json: fitting(foreign) }));
  const kept = { ...clean, ...page, reference, amount, currency, ...status };
  return resultFrom(call, kept) && kept;
}

/** How an address may write the sign in the middle of an email, and what stands in for it meanwhile. */
const STAND_INS = [
  ['@', '&at;'],
  ['%40', '&atsign;'],
] as const;

/**
 * The address of a checkout page, without the customer's own email. An `@` of somebody else (`/@shop`, the address of a
 * help desk) belongs to the way to the page: it is hidden from `redact`, which takes out any email, wherever `redact` is
 * seen to know the customer's own without it.
 */
function pageWithout(request: object, result: object, redact: Redact): string | undefined {
  const address = textField(result, 'checkout_url') ?? '';
  if (address.length > LONGEST_KEPT) return undefined;
  const email = textField(request, 'customer_email') ?? '';
  const serves = STAND_INS.every(([, standIn]) => {
    const own = email.replaceAll('@', standIn);
    return redact(own) !== own && !address.includes(standIn);
  });
  if (!serves) return redact(address);
  const hidden = STAND_INS.reduce((text, [sign, standIn]) => text.replaceAll(sign, standIn), address);
  return STAND_INS.reduce((text, [sign, standIn]) => text.replaceAll(standIn, sign), redact(hidden));
}

/**
 * A recorded result, typed as it was when the answer came; `undefined` where it is none of this operation, or not of
 * the amount and currency that are asked for.
 */
export function resultFrom<Input, Request extends object, Result>(
  { operation, request }: { operation: Operation<Input, Request, Result>; request: Request },
  recorded: object,
): Result | undefined {
  const message = 'message' in recorded ? recorded.message : undefined;
  const answer = operation.answer.safeParse({ status: true, message, data: recorded });
  if (!answer.success || operation.mismatches(answer.data, request).length > 0) return undefined;
  return answer.data;
}
