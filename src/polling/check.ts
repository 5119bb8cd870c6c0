import type { Transaction } from '../api/transaction.ts';
import type { CallResult } from '../http/attempt.ts';
import type { PollingRules } from '../options.ts';
import { isFinal } from '../schedule.ts';

/** The result of one check: plain JSON, made for job queues and durable engines. */
export interface CheckResult {
  reference: string;
  status: Transaction['status'];
  /** Whether the status is final: `success`, `failed` or `abandoned`, unless `polling.finalStatuses` names others. */
  final: boolean;
  transaction: Transaction;
  /** How long the service asked to wait before the next check, in milliseconds. */
  retryAfter?: number;
}

export function toCheckResult(
  { result: transaction, retryAfter }: CallResult<Transaction>,
  { finalStatuses }: PollingRules,
): CheckResult {
  const { reference, status } = transaction;
  const final = isFinal(status, finalStatuses);
  return { reference, status, final, transaction, ...(retryAfter === undefined ? {} : { retryAfter }) };
}
