import type { Transaction } from '../contract/transaction.ts';
import type { PollingRules } from '../polling-options.ts';
import type { CallResult } from '../transport/attempt.ts';
import { isFinal } from './schedule.ts';

/** What one look gives: plain JSON, made for job queues and durable engines. */
export interface CheckResult {
  reference: string;
  status: Transaction['status'];
  /** Whether nothing more is expected: `success`, `failed` or `abandoned`, unless `polling.finalStatuses` says else. */
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
