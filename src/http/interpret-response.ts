import type { Operation } from '../api/operations.ts';
import { type AnyTransaction, TransactionMismatchError } from '../errors.ts';
import { CallerAborted } from '../timing.ts';
import { isObject } from '../untrusted.ts';
import {
  type AttemptContext,
  abortError,
  incompleteResponseError,
  lateResponseError,
  rejectionError,
  statusError,
  unexpectedResponseError,
} from './error-mapping.ts';
import type { ResponseBuffer } from './response.ts';

/**
 * Returns the typed result of a response, or throws the error that states what might have happened to the money.
 *
 * @param thrown what ended the request early, or `undefined` if the whole response has arrived.
 */
export function interpretResponse<Input, Request extends object, Result extends AnyTransaction>(
  operation: Operation<Input, Request, Result>,
  request: Request,
  context: AttemptContext,
  response: ResponseBuffer,
  thrown: unknown,
): Result {
  const { status } = response;
  if (thrown instanceof CallerAborted) throw abortError(context, thrown.reason);
  if (status === null) throw incompleteResponseError(context, thrown, status);
  if (operation.method === 'POST' && context.hasEarlierId) throw lateResponseError(context, response, status);
  if (status < 200 || status > 299) throw statusError(context, response, status, thrown === undefined);
  if (thrown !== undefined) throw incompleteResponseError(context, thrown, status);

  const body = response.json;
  if (body === undefined) throw unexpectedResponseError(context, response, status, 'a body that is not JSON');
  if (isRejection(body)) throw rejectionError(context, response, status);
  const parsed = operation.output.safeParse(body);
  if (!parsed.success) {
    const fields = new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the body'));
    const problem = `an unexpected body: ${[...fields].join(', ')} missing or wrong`;
    throw unexpectedResponseError(context, response, status, problem);
  }
  const result = parsed.data;
  const mismatches = operation.findMismatches(result, request);
  if (mismatches.length > 0) throw new TransactionMismatchError(result, mismatches, context);
  return result;
}

function isRejection(body: unknown): boolean {
  return isObject(body) && 'status' in body && body.status === false;
}
