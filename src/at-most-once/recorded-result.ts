import type { Operation } from '../contract/operation.ts';
import type { Redact } from '../redact.ts';
import type { AnyTransaction } from '../request-errors.ts';

/**
 * What a later call needs of a result. The service may repeat phone and email in its message, in other fields and in the
 * address of the checkout page; what tells the transaction is kept as it is.
 */
export function recordable(
  { name }: { name: string },
  result: AnyTransaction,
  redact: Redact,
): { reference: string } {
  const { reference, amount, currency } = result;
  const kept = { reference, amount, currency };
  const status = name === 'chargeMobileMoney' && 'status' in result ? { status: result.status } : {};
  return { ...Object(redact.body({ text: '', json: result })), ...kept, ...status };
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
