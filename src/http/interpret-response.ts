import type { Operation } from '../api/operations.ts';
import { type AnyTransaction, TransactionMismatchError } from '../errors.ts';
import { CallerAborted } from '../timing.ts';
import {
  abortError,
  type CallContext,
  earlierAnswer,
  incompleteResponseError,
  rejectionError,
  statusError,
  unexpectedResponseError,
} from './error-mapping.ts';

import type { ResponseBuffer } from './response.ts';

/**
 * The end of every request: from what came in, and what was thrown meanwhile, to a typed result or to the error that
 * says what may have happened to the money.
 */
export function interpretResponse<Input, Request extends object, Result extends AnyTransaction>(
  operation: Operation<Input, Request, Result>,
  request: Request,
  facts: CallContext,
  received: ResponseBuffer,
  thrown: unknown,
): Result {
  const { status } = received;
  if (thrown instanceof CallerAborted) throw abortError(facts, thrown.reason);
  if (status === null) throw incompleteResponseError(facts, thrown, status);
  if (operation.method === 'POST' && facts.isOfEarlierRequest) throw earlierAnswer(facts, received, status);
  if (status < 200 || status > 299) throw statusError(facts, received, status, thrown === undefined);
  if (thrown !== undefined) throw incompleteResponseError(facts, thrown, status);

  const body = received.json;
  if (body === undefined)
    throw unexpectedResponseError(facts, received, status, 'a body that cannot be read as JSON');
  if (isRejection(body)) throw rejectionError(facts, received, status);
  const answer = operation.output.safeParse(body);
  if (!answer.success) {
    const wrong = new Set(answer.error.issues.map(({ path }) => path.join('.') || 'the body'));
    const fault = `a body other than SPEC.md shows: ${[...wrong].join(', ')} missing or wrong`;
    throw unexpectedResponseError(facts, received, status, fault);
  }
  const mismatches = operation.findMismatches(answer.data, request);
  if (mismatches.length > 0) throw new TransactionMismatchError(answer.data, mismatches, facts);
  return answer.data;
}

const isRejection = (body: unknown) =>
  typeof body === 'object' && body !== null && 'status' in body && body.status === false;
