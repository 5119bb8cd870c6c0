import type { Operation } from '../contract/operation.ts';
import type { Redact } from '../redact.ts';
import type { AnyTransaction } from '../request-errors.ts';

/** What a later call needs of a result. The service may repeat phone and email in its message and in other fields. */
export function recordable(result: AnyTransaction, redact: Redact): { reference: string } {
  const { reference, amount, currency } = result;
  const clean = redact.body({ text: '', json: result });
  const kept = { reference, amount, currency };
  if ('checkout_url' in result) return { ...Object(clean), ...kept, checkout_url: result.checkout_url };
  return { ...Object(clean), ...kept, status: result.status };
}

/** A recorded result, typed as it was when the answer came; `undefined` where it is none of this operation. */
export function resultFrom<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
  recorded: object,
): Result | undefined {
  const message = 'message' in recorded ? recorded.message : undefined;
  const answer = operation.answer.safeParse({ status: true, message, data: recorded });
  return answer.success ? answer.data : undefined;
}
