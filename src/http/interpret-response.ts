import type { Operation } from '../api/operations.ts';
import { type AnyTransaction, TransactionMismatchError } from '../errors.ts';
import { CallerAborted } from '../support/timing.ts';
import { isObject } from '../support/untrusted.ts';
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
 * @param isLate whether the response has the `X-Request-Id` of an earlier request of this client.
 */
export function interpretResponse<Input, Request extends object, Result extends AnyTransaction>(
  operation: Operation<Input, Request, Result>,
  request: Request,
  createContext: () => AttemptContext,
  response: ResponseBuffer,
  thrown: unknown,
  isLate: boolean,
): Result {
  const { status } = response;
  if (thrown instanceof CallerAborted) throw abortError(createContext(), thrown.reason);
  if (status === null) throw incompleteResponseError(createContext(), thrown, status);
  if (operation.method === 'POST' && isLate) throw lateResponseError(createContext(), response, status);
  if (status < 200 || status > 299)
    throw statusError(createContext(), response, status, thrown === undefined);
  if (thrown !== undefined) throw incompleteResponseError(createContext(), thrown, status);

  const body = response.json;
  if (body === undefined)
    throw unexpectedResponseError(createContext(), response, status, 'a body that is not JSON');
  if (isRejection(body)) throw rejectionError(createContext(), response, status);
  const parsed = operation.output.safeParse(body);
  if (!parsed.success) {
    const fields = new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the body'));
    const problem = `an unexpected body: ${[...fields].join(', ')} missing or wrong`;
    throw unexpectedResponseError(createContext(), response, status, problem);
  }
  const result = parsed.data;
  const mismatches = operation.findMismatches(result, request);
  if (mismatches.length > 0) throw new TransactionMismatchError(result, mismatches, createContext());
  return result;
}

function isRejection(body: unknown): boolean {
  return isObject(body) && 'status' in body && body.status === false;
}
