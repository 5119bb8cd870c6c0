/** Every write of a record goes through here: what no write can do is judged by comparing the record before and after. */

import type { LedgerRecord, Payment } from './rules.ts';
import * as rules from './rules.ts';
import { type Config, toPrice, type World } from './world.ts';

/** What the steps of one state share. */
export interface StepContext {
  readonly world: World;
  readonly config: Config;
  /** Adds a step. It returns what it broke, if it broke anything. */
  readonly go: (label: string, run: (next: World) => string | undefined) => void;
}

/** Writes a record. Returns what this write broke. */
export function write(next: World, config: Config, order: number, record: LedgerRecord | null): string {
  const before = next.records[order] ?? null;
  next.records[order] = record;
  if (!record || !before || record === before) return '';
  for (const [index, payment] of before.payments.entries()) {
    const broken = findLostFact(payment, record, index);
    if (broken) return broken;
  }
  if (before.winner !== undefined)
    return record.winner === before.winner
      ? ''
      : `the winner moved from ${before.winner} to ${record.winner}`;
  const winner = record.payments[(record.winner ?? 0) - 1];
  const asked = next.asked[order];
  if (!winner || winner.accepted || config.kind === 'key' || asked == null) return '';
  return winner.amount === toPrice(asked).amount
    ? ''
    : `the winner has ${winner.amount}, and ${asked} was last asked for`;
}

/** What was closed, accepted or decided stays so. */
function findLostFact(payment: Payment, record: LedgerRecord, index: number): string {
  const number = index + 1;
  const after = record.payments[index];
  if (!after) return `${number} is no more`;
  const isTakenBack = after.resolutions.at(-1)?.resolution === 'taken_back';
  if (payment.charge.is === 'closed' && after.charge.is !== 'closed' && !isTakenBack)
    return `${number} was closed, and is no more`;
  if (after.resolutions.length < payment.resolutions.length) return `a decision about ${number} is no more`;
  if (after.accepted && !payment.accepted && record.winner !== number)
    return `${number} was accepted, and does not pay the order`;
  const reference = rules.referenceOf(payment);
  const same = record.payments.find((item) => rules.isSameReference(rules.referenceOf(item), reference));
  const isFollowable = payment.charge.is === 'made' && same?.charge.is === 'made';
  return isFollowable ? findForgotten(payment, same) : '';
}

/** What was seen of a transaction stays so, and a notification about it is heeded. */
function findForgotten(payment: Payment, same: Payment): string {
  const [before, after] = [rules.seenOf(payment), rules.seenOf(same)];
  const isPaid = rules.isSuccess(payment) && !before?.other;
  if (isPaid && !rules.isSuccess(same)) return `${before?.reference} was seen success, and is no more`;
  if (before?.status !== undefined && after?.status === undefined)
    return `what was seen of ${before.reference} is forgotten`;
  const notifiedAt = payment.pace?.notifiedAt;
  const isAsked = same.pace?.notifiedAt !== undefined || (after?.askedAt ?? 0) >= (notifiedAt ?? 0);
  const isHeeded = notifiedAt === undefined || isAsked || rules.isSuccess(same);
  return isHeeded ? '' : `a notification about ${rules.referenceOf(payment)} is forgotten`;
}

/** A write whose commit the process does not hear of: the record is written, and the process stands where it stood. */
export function writeLost(
  { world, config, go }: StepContext,
  label: string,
  { order, record }: { order: number; record: LedgerRecord | null },
  run: (next: World) => void = () => {},
): void {
  if (world.budget.lostCommits === 0 || record === (world.records[order] ?? null)) return;
  go(`${label}, and does not hear of it`, (next) => {
    next.budget = { ...next.budget, lostCommits: next.budget.lostCommits - 1 };
    run(next);
    return write(next, config, order, record);
  });
}
