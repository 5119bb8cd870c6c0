/**
 * Faults that the exploring must find: in the rules, as a text that replaces another, and in the shell around them. Each was once a
 * bug of this package, a sentence of its design that lost money, or one that somebody could write.
 */

import type { ConfigName } from './configs.ts';

export interface Fault {
  readonly name: string;
  /** The worlds in which it is found. */
  readonly worlds: readonly ConfigName[];
  /** Of the rules: a file of src/ledger, and texts of it with what replaces them. */
  readonly file?: string;
  readonly replace?: readonly (readonly [find: string, by: string])[];
}

const inShell = (name: string, ...worlds: ConfigName[]): Fault => ({ name, worlds });
const inRules = (name: string, file: string, replace: Fault['replace'], ...worlds: ConfigName[]): Fault => ({
  name,
  file: `${file}.ts`,
  replace: replace ?? [],
  worlds,
});

export const faults: readonly Fault[] = [
  // Of the shell.
  inShell('reference_looked_up', 'shared', 'sharedPersons'),
  inShell('guard_at_claim_only', 'foreign'),
  inShell('blind_write', 'plain'),
  inShell('told_before_call', 'handlers'),
  inShell('late_send', 'late'),
  inShell('claim_per_payment', 'freeze', 'persons', 'duplicate'),
  inShell('no_takeover', 'shared', 'settle'),
  inShell('claim_not_rewritten', 'lateShared', 'shared'),
  inShell('shared_is_charged', 'duplicate', 'shared'),
  inShell('price_late', 'pricePassing'),
  inShell('asked_when_recorded', 'week'),
  inShell('prune_claims_blind', 'pruneShared'),
  inShell('reference_needs_amount', 'mismatch'),

  // Of the rules: the press.
  inRules(
    'same_not_joined',
    'press',
    [['if (!payment || (!same && startAnother))', 'if (!payment || startAnother)']],
    'sameAgain',
  ),
  inRules(
    'another_over_unresolved',
    'press',
    [
      [
        "    case 'in_review':\n      return {",
        "    case 'in_review':\n      if (pressing.startAnother) return beginNext(record, pressing);\n      return {",
      ],
    ],
    'another',
  ),
  inRules(
    'claimed_is_sent',
    'press',
    [['if (isAllowed && isSending(own, now))', 'if (isSending(own, now))']],
    'lostCommitsLate',
    'lostCommits',
    'lostCommitsAnother',
  ),
  inRules(
    'own_claim_not_recognised',
    'press',
    [['if (own) return goOn(found, own, pressing);', '']],
    'lostCommits',
    'lostCommitsAnother',
  ),
  inRules(
    'used_number_again',
    'press',
    [["last?.charge.is === 'none'", 'last !== undefined && isNone(last)']],
    'duplicate',
    'reuse',
    'freeze',
  ),
  inRules(
    'earlier_not_checked',
    'press',
    [
      [
        "if (references.length > 0) return { record, decision: { do: 'check', references } };\n  const { ask, now, lease }",
        'const { ask, now, lease }',
      ],
    ],
    'plain',
    'another',
  ),
  inRules(
    'failed_not_checked',
    'press',
    [['(isOpen(payment, now) || isEnded(payment))', 'isOpen(payment, now)']],
    'plain',
  ),
  inRules(
    'told_by_number',
    'press',
    [['told: { attention: [] },', 'told: reused?.told ?? { attention: [] },']],
    'prune',
    'handlers',
  ),

  // The outcome.
  inRules(
    'drop_late',
    'outcome',
    [
      [
        'if (reference === undefined) return { record: before };',
        'if (reference !== undefined || !isMade) return { record: before };',
      ],
    ],
    'freeze',
  ),
  inRules(
    'late_after_prune',
    'outcome',
    [
      [
        'if (reference === undefined) return { record: before };',
        'if (reference === undefined || before === null) return { record: before };',
      ],
    ],
    'prune',
  ),
  inRules(
    'late_not_named',
    'outcome',
    [
      [
        "const charge = { is: 'unknown', why: 'late', reference } as const;",
        "const charge = isMade && outcome.isClaimed ? ({ is: 'made', result: outcome.result } as const) : ({ is: 'unknown', why: 'late', reference } as const);",
      ],
      [
        'const payment = isConfirmed ? { ...added, claiming } : added;',
        'const payment = isConfirmed && !outcome.isClaimed ? { ...added, claiming } : added;',
      ],
    ],
    'lateShared',
  ),
  inRules(
    'late_pays_after_closing',
    'outcome',
    [["before !== null && own?.charge.is !== 'closed'", 'before !== null']],
    'freeze',
    'reuse',
  ),
  inRules(
    'token_not_compared',
    'outcome',
    [['payment.attempt === id && payment.charge.is', "(id !== '' || payment.attempt) && payment.charge.is"]],
    'freeze',
    'reuse',
  ),
  inRules(
    'unknown_is_none',
    'outcome',
    [
      [
        "return { ...payment, charge: { is: 'unknown', why, ...named, ...(error && { error }) } };",
        "return { ...payment, charge: { is: 'none', why: 'not_sent', ...(error && named && why && { error }) } };",
      ],
    ],
    'plain',
  ),
  inRules(
    'shared_within_order',
    'outcome',
    [['if (!isClaimed || isElsewhere)\n', 'if (!isClaimed)\n']],
    'duplicate',
  ),
  inRules(
    'shared_is_made',
    'outcome',
    [['if (!isClaimed || isElsewhere)\n', 'if (isElsewhere && isClaimed)\n']],
    'shared',
  ),
  inRules(
    'confirmed_after_closing',
    'outcome',
    [['isClosed || !isUnresolved(payment, now)', '!isUnresolved(payment, now)']],
    'persons',
  ),

  // A check.
  inRules(
    'settle_without_reference',
    'check',
    [
      [
        'ownsReference(item, reference)',
        "(item.charge.is === 'made' && ownsReference(item, item.charge.result.reference))",
      ],
      [
        'const seen = seenOf(payment) ?? { reference };',
        "const reference2 = payment.charge.is === 'made' ? payment.charge.result.reference : reference; const seen = seenOf(payment) ?? { reference: reference2 };",
      ],
    ],
    'settle',
    'reuse',
    'another',
    'pruneShared',
  ),
  inRules(
    'success_taken_back',
    'check',
    [
      ['if (isPaid(payment) || (isOld && !isNews)) return before;', 'if (isOld && !isNews) return before;'],
      [
        "if (seen.status === 'success' && !(finding.is === 'answered'",
        "if (seen.status === 'none' && !(finding.is === 'answered'",
      ],
    ],
    'plain',
    'gone',
  ),
  inRules(
    'older_check_counts',
    'check',
    [['isPaid(payment) || (isOld && !isNews)', 'isPaid(payment)']],
    'jumps',
    'gone',
    'week',
    'webhooksLate',
  ),
  inRules(
    'old_success_is_dropped',
    'check',
    [['isPaid(payment) || (isOld && !isNews)', 'isPaid(payment) || isOld']],
    'week',
    'gone',
    'prune',
  ),
  inRules(
    'notification_is_forgotten',
    'check',
    [["finding.is === 'temporary' || notifiedAt > askedAt", 'notifiedAt > askedAt + 1e15']],
    'webhooksLate',
  ),

  // Conclusions.
  inRules(
    'winner_no_price',
    'order',
    [
      [
        '(payment.accepted || isSamePrice(payment, record.price))',
        'isSamePrice(payment, payment) && record.price !== undefined',
      ],
    ],
    'price',
  ),
  inRules(
    'winner_derived',
    'order',
    [['if (record.winner !== undefined) return record;\n  const index', 'const index']],
    'price',
  ),
  inRules(
    'superseded_is_not_open',
    'order',
    [['return record.payments.findLast((payment) => isOpen(payment, now));', 'return undefined;']],
    'another',
  ),
  inRules(
    'prune_ended_only',
    'order',
    [
      [
        'if (!isOld || isUnderWay || needsPerson) return false;',
        'if (!isOld || isUnderWay || payments.some((payment) => isUnresolved(payment, now))) return false;\n  if (!unfollowed) return true;',
      ],
    ],
    'prune',
    'priceAgain',
    'price',
  ),
  inRules(
    'prune_what_is_owed',
    'order',
    [['return listOwed(record, now).length === 0 && !payments', 'return !payments']],
    'prune',
  ),
  inRules(
    'mismatch_of_current_only',
    'order',
    [
      [
        'if (hasOtherAmount(payment, now)) return',
        'if (hasOtherAmount(payment, now) && findCurrent(record) === payment) return',
      ],
    ],
    'mismatch',
  ),
  inRules(
    'key_first_payment_only',
    'order',
    [
      [
        'payments.flatMap((payment, index) => {\n    const what',
        'payments.slice(0, 1).flatMap((payment, index) => {\n    const what',
      ],
    ],
    'keySwept',
    'key',
  ),
  inRules(
    'sending_does_not_protect',
    'order',
    [
      [
        "(!namesReference(record, reference) && !record.payments.some(({ charge }) => charge.is === 'sending'))",
        '!namesReference(record, reference)',
      ],
    ],
    'shared',
    'sharedPersons',
    'lateShared',
    'pruneShared',
  ),
  inRules(
    'attention_index_without_lease',
    'order',
    [
      [
        "if (payment.charge.is === 'sending') return [payment.charge.until];\n    const isUnderWay",
        'const isUnderWay',
      ],
    ],
    'plain',
    'tiny',
  ),
  inRules(
    'unpaid_is_not_owed',
    'order',
    [['isEnded(current) && !current.told.unpaid', 'isEnded(current) && current.told.unpaid']],
    'handlers',
  ),

  // Of a payment.
  inRules(
    'failed_is_final',
    'payment',
    [['const isOver = isEnded(payment);', 'const isOver = isEnded(payment);\n  if (isOver) return false;']],
    'plain',
  ),
  inRules(
    'lease_never_ends',
    'payment',
    [
      [
        "charge.is === 'unknown' || (charge.is === 'sending' && now >= charge.until)",
        "charge.is === 'unknown' || (charge.is === 'sending' && now < 0)",
      ],
    ],
    'plain',
    'freeze',
  ),
  inRules(
    'lease_over_is_free',
    'payment',
    [
      [
        "({ charge }: Payment) => charge.is === 'none'",
        "({ charge }: Payment) => (charge.is === 'sending' && charge.until <= 2_000_000_000) || charge.is === 'none'",
      ],
      [
        "charge.is === 'unknown' || (charge.is === 'sending' && now >= charge.until)",
        "charge.is === 'unknown' || (charge.is === 'sending' && now < 0)",
      ],
    ],
    'freeze',
    'plain',
  ),
  inRules(
    'overdue_not_listed',
    'payment',
    [['now - notAfter(now, payment.createdAt) >= FOLLOWED_FOR;', 'now < 0;']],
    'overdue',
    'plain',
  ),
  inRules(
    'week_by_clock',
    'payment',
    [
      [
        'const isLong = notAfter(now, askedAt) - notAfter(now, since) >= FOLLOWED_FOR;',
        'const isLong = now - notAfter(now, since) >= FOLLOWED_FOR;',
      ],
    ],
    'week',
  ),
  inRules(
    'gone_is_not_listed',
    'payment',
    [['askedAt - notFoundSince >= NOT_FOUND_GRACE', 'askedAt - notFoundSince < 0']],
    'gone',
  ),
  inRules(
    'other_amount_is_paid',
    'payment',
    [['(isSuccess(payment) && seenOf(payment)?.other === undefined)', 'isSuccess(payment)']],
    'mismatch',
  ),
  inRules(
    'not_final_is_ended',
    'payment',
    [['payment.finalStatuses.includes(status)', 'status.length > 0']],
    'notFinal',
  ),

  // A person.
  inRules(
    'persons_not_compared',
    'resolve',
    [
      [
        "if (getSight(record, number, now) !== sight) return { resolved: { is: 'changed' } };",
        "if (getSight(record, number, now) === '') return { resolved: { is: sight === '' ? 'changed' : 'changed' } };",
      ],
    ],
    'personsFrozen',
    'persons',
  ),
  inRules(
    'sight_without_attempt',
    'resolve',
    [['const found = { attempt, is:', 'const found = { is:']],
    'personsFrozen',
  ),
  inRules(
    'winner_taken_back',
    'resolve',
    [['if (!decision || before.winner === number)', 'if (!decision)']],
    'priceTakenBack',
  ),
  inRules(
    'closed_keeps_reference',
    'resolve',
    [
      [
        "return charge.is === 'made' ? { is: 'closed', reference }",
        "return charge.is !== 'none' ? { is: 'closed', reference }",
      ],
    ],
    'duplicate',
    'shared',
  ),
  inRules(
    'not_charged_although_confirmed',
    'resolve',
    [
      [
        "const isRefuted = decision === 'not_charged' && isConfirmed;",
        "const isRefuted = decision === 'closed' && isConfirmed && decision === undefined;",
      ],
    ],
    'tiny',
    'freeze',
    'key',
  ),
  inRules(
    'accepted_twice',
    'resolve',
    [['isSuccess(payment) && record.winner === undefined', 'isSuccess(payment)']],
    'mismatchPaid',
  ),

  // What handlers were told.
  inRules(
    'told_to_another_attempt',
    'tell',
    [
      ['payment?.attempt !== call.attempt', "payment?.attempt === ''"],
      ['if (!before ||', 'if (!before || !payment ||'],
    ],
    'prune',
    'reuse',
    'handlers',
  ),
];
