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
  const page = isCharge ? {} : { checkout_url: pageWithout(others, redact) };
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

/**
 * The address of a checkout page, without the customer's own email. Another's (`/@shop`, the address of a help desk)
 * belongs to the way to the page.
 */
function pageWithout(result: object, redact: Redact): string | undefined {
  const address = textField(result, 'checkout_url') ?? '';
  return address.length > LONGEST_KEPT ? undefined : redact.own(address);
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
