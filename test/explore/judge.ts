/** What must hold in every state, and where every state must lead. */

import { claimReference, isConfirmed, isHeldByOther, takeVoid } from './claims.ts';
import { reviewer } from './persons.ts';
import type { LedgerRecord, Payment } from './rules.ts';
import * as rules from './rules.ts';
import { isUnpaidAtService, toFinding, toMade } from './service.ts';
import { type Config, LEASE, NOW, passTime, type ServiceCharge, type World } from './world.ts';

/** Returns what is wrong in a state; empty if nothing is. */
export function findBroken(world: World, config: Config): string {
  for (const [order, record] of world.records.entries()) {
    const broken =
      record &&
      (findBrokenRecord(record) ||
        findBrokenWinner(world, record) ||
        findBrokenTold(world, config, order, record));
    if (broken) return `${config.orders[order]}: ${broken}`;
  }
  return findSharedReference(world);
}

/** One transaction is in one payment. */
function findSharedReference({ records }: World): string {
  const references = records.flatMap((record) => (record ? listOwned(record) : []));
  const shared = references.find((reference, index) => references.indexOf(reference) !== index);
  return shared === undefined ? '' : `${shared} is in two payments`;
}

const ownedReferences = new WeakMap<LedgerRecord, string[]>();

function listOwned(record: LedgerRecord): string[] {
  const known = ownedReferences.get(record);
  if (known) return known;
  const owned = record.payments.flatMap((payment) => {
    const isOwned = payment.charge.is === 'made' || payment.charge.is === 'closed';
    return (isOwned && rules.referenceOf(payment)) || [];
  });
  ownedReferences.set(record, owned);
  return owned;
}

const brokenRecords = new WeakMap<LedgerRecord, string>();

/** What depends on the record alone. */
function findBrokenRecord(record: LedgerRecord): string {
  const known = brokenRecords.get(record);
  if (known !== undefined) return known;
  const broken =
    judgeConclusions(record) ||
    judgeIndex(record, 0) ||
    judgeIndex(record, LEASE) ||
    judgeIndex(record, rules.FOLLOWED_FOR);
  brokenRecords.set(record, broken);
  return broken;
}

function judgeConclusions(record: LedgerRecord): string {
  if (rules.recordWinner(record) !== record) return 'a payment pays it, and is not recorded as the winner';
  const isUndecided = record.payments.some(
    (payment) => rules.isOpen(payment, NOW) || rules.isUnresolved(payment, NOW) || rules.isPaid(payment),
  );
  if (rules.getState(record, NOW) === 'unpaid' && isUndecided)
    return 'unpaid, and something is open, unresolved or paid';
  const listed = rules.listAttention(record, NOW);
  for (const [index, payment] of record.payments.entries()) {
    const broken = judgePayment(record, payment, index + 1);
    if (broken && !listed.some(({ number }) => number === index + 1)) return `${index + 1} ${broken}`;
    const others = record.payments.filter((item) => item !== payment && !rules.isNone(item));
    if (rules.isSuperseded(record, payment, NOW) && others.length === 0)
      return `${index + 1} is superseded by nothing`;
  }
  return '';
}

/** Returns why a payment must be listed. */
function judgePayment(record: LedgerRecord, payment: Payment, number: number): string {
  if (payment.charge.is !== 'made') return '';
  const { reference } = rules.seenOf(payment) ?? payment.charge.result;
  if (reference !== payment.charge.result.reference) return 'counts as what was seen of another transaction';
  if (rules.isSuccess(payment))
    return number === record.winner ? '' : 'was seen success, and is not the winner';
  const { askedAt = 0, notFoundSince = askedAt } = rules.seenOf(payment) ?? {};
  const isGone = rules.isOpen(payment, NOW) && askedAt - notFoundSince >= LEASE;
  return isGone ? 'is not found for long, and is not listed' : '';
}

/** Stores find by two times what is due and what needs a person, also if time passes and nobody writes. */
function judgeIndex(record: LedgerRecord, later: number): string {
  const then = NOW + later;
  const attentionAt = rules.getAttentionAt(record, NOW);
  if (rules.listAttention(record, then).length > 0 && (attentionAt === null || attentionAt > then))
    return 'it needs a person, and no index finds it';
  const dueAt = rules.getDueAt(record, NOW);
  const isFollowed = record.payments.some((payment) => rules.isFollowed(payment, then));
  if (isFollowed && dueAt === null) return 'a payment is followed, and no index finds it';
  const isOwed = rules.listOwed(record, then).length > 0;
  return isOwed && (dueAt === null || dueAt > then) ? 'a call is owed, and no index finds it' : '';
}

function findBrokenWinner({ charges }: World, record: LedgerRecord): string {
  const winner = record.payments[(record.winner ?? 0) - 1];
  if (!winner || winner.accepted) return '';
  const charge = charges.find(({ ref }) => ref === rules.referenceOf(winner));
  const isPaid = charge && (charge.reversed || (charge.status === 'success' && !charge.other));
  return isPaid ? '' : `the winner ${record.winner} is not paid at the service`;
}

function findBrokenTold(world: World, config: Config, order: number, record: LedgerRecord): string {
  if (!config.handlers) return '';
  const heard = world.heard[order] ?? {};
  for (const { told, attempt } of record.payments) {
    const words = (heard[attempt] ?? '').split(' ');
    if (told.paid && heard.paid !== attempt) return 'onPaid counts as told, and did not hear of it';
    if (told.unpaid && !words.includes('unpaid')) return 'onUnpaid counts as told, and did not hear of it';
    if (told.final && !words.includes(told.final)) return 'onFinal counts as told, and did not hear of it';
    if (told.attention.some((reason) => !words.includes(reason)))
      return 'onAttention counts as told, and did not hear of it';
  }
  return '';
}

const judged = new Map<number, string>();

/**
 * From each state, an informed person, checks and sweeps must lead to an end at which every charge that is paid at the service
 * is the winner, listed, or decided: as the charges are now, and had every one of them been paid.
 */
export function findBrokenEnd(world: World, config: Config, key: number): string {
  const known = judged.get(key);
  if (known !== undefined) return known;
  const broken =
    endFairly({ ...world }, config) || endFairly(payAll(world), config, ' (had every charge been paid)');
  judged.set(key, broken);
  return broken;
}

export const forgetJudged = () => judged.clear();

const isPastFollowing = (world: World, charge: ServiceCharge) =>
  world.records.some((record) =>
    record?.payments.some((payment) => {
      const { askedAt = 0, endedAt } = rules.seenOf(payment) ?? {};
      const isOwn = rules.referenceOf(payment) === charge.ref && rules.isEnded(payment);
      const lastAsked = charge.askedAt ?? askedAt;
      return (
        isOwn &&
        endedAt !== undefined &&
        !rules.isFollowed(payment, NOW) &&
        lastAsked - endedAt >= rules.FOLLOWED_FOR
      );
    }),
  );

function payAll(world: World): World {
  const charges = world.charges.map((charge) =>
    isUnpaidAtService(charge) && !isPastFollowing(world, charge) ? { ...charge, status: 'success' } : charge,
  );
  return { ...world, charges };
}

const ROUNDS = 12;

function endFairly(start: World, config: Config, suffix = ''): string {
  const world: World = {
    ...start,
    records: [...start.records],
    claims: { ...start.claims },
    charges: [...start.charges],
    flights: [],
    processes: [],
    persons: [],
  };
  let broken = '';
  const note = (text: string) => {
    broken ||= text;
  };
  for (let round = 0; round < ROUNDS && !broken; round++) {
    passTime(world, getPause(round));
    for (const order of config.orders.keys()) {
      checkAll(world, order);
      if (round >= 2) decideAll(world, config, order, round, note);
      tellAll(world, order);
    }
  }
  broken ||= findUnended(world, config);
  return broken && `${broken}${suffix}`;
}

/** At first leases end, and a 404 gets lasting. Later, a week passes without an end. */
function getPause(round: number): number {
  if (round < 2 || round > 8) return LEASE;
  return round === 8 ? rules.FOLLOWED_FOR : 0;
}

function checkAll(world: World, order: number): void {
  const record = world.records[order];
  for (const payment of record?.payments ?? []) {
    const reference = rules.referenceOf(payment);
    if (reference === undefined || !rules.isFollowed(payment, NOW)) continue;
    const index = world.charges.findIndex(({ ref }) => ref === reference);
    const charge = world.charges[index];
    if (!charge) continue;
    world.charges[index] = { ...charge, askedAt: NOW };
    const times = { askedAt: NOW, now: NOW, random: 0.5 };
    world.records[order] = rules.check(world.records[order] ?? null, reference, toFinding(charge), times);
  }
}

function tellAll(world: World, order: number): void {
  for (let calls = 0; calls < 20; calls++) {
    const record = world.records[order] ?? null;
    const [call] = record ? rules.listOwed(record, NOW) : [];
    if (!call) return;
    world.records[order] = rules.tell(record, call);
  }
}

/** An informed person decides everything that is listed, by what is true. */
function decideAll(
  world: World,
  config: Config,
  order: number,
  round: number,
  note: (text: string) => void,
): void {
  const before = world.records[order];
  for (const number of before?.payments.keys() ?? []) {
    const record = world.records[order];
    const item = record && rules.listAttention(record, NOW).find((listed) => listed.number === number + 1);
    if (record && item) decideOne({ world, config, order, record, ...item, round, note });
  }
}

interface Case {
  readonly world: World;
  readonly config: Config;
  readonly order: number;
  readonly record: LedgerRecord;
  readonly number: number;
  readonly reason: rules.AttentionReason;
  readonly round: number;
  readonly note: (text: string) => void;
}

let decisionIds = 0;

function put({ world, order, number, round }: Case, decision: rules.PlainDecision): boolean {
  const record = world.records[order] ?? null;
  if (!record) return false;
  const sight = rules.getSight(record, number, NOW);
  const given = reviewer(`d${decisionIds++} ${round}`, sight);
  const confirmed = isConfirmed(world, record, order, number);
  const resolved = rules.resolve(record, number, decision, given, confirmed);
  if (resolved.is === 'done') world.records[order] = resolved.record;
  return resolved.is === 'done';
}

function decideOne(item: Case): void {
  const { record, number, reason, note } = item;
  const payment = record.payments[number - 1];
  if (!payment) return;
  if (rules.isUnresolved(payment, NOW)) {
    decideUnresolved(item, payment);
    return;
  }
  const canAccept = rules.listFitting(record, number, NOW).includes('accepted');
  if (!put(item, canAccept ? 'accepted' : 'closed')) note(`${reason} of ${number} cannot be decided`);
}

/** Finds out what came of an attempt, at the service and in the journal. */
function decideUnresolved(item: Case, payment: Payment): void {
  const { world, order, record } = item;
  const others = record.payments.filter((other) => other !== payment);
  const own = world.charges.find(({ attempt }) => attempt === payment.attempt);
  const named = world.charges.find(({ ref }) => ref === rules.referenceOf(payment));
  const isFree = named?.order === order && !others.some((it) => rules.holdsReference(it, named.ref));
  const truth = own ?? (isFree ? named : undefined);
  if (!truth) {
    decideNotCharged(item, payment, named);
    return;
  }
  const isElsewhere = others.some((it) => rules.ownsReference(it, truth.ref));
  const isTrue = (!truth.excused || truth === named) && !isElsewhere;
  const refused = isTrue ? giveReference(item, truth) : '';
  if (!isTrue) put(item, 'closed');
  else if (refused) endRefused(item, truth, refused);
}

function decideNotCharged(item: Case, payment: Payment, named: ServiceCharge | undefined): void {
  const { world, config, order, number, note, round } = item;
  if (put(item, 'not_charged') || round < 4) return;
  const isShared = payment.charge.is === 'unknown' && payment.charge.why === 'shared_reference';
  const isExplained =
    world.charges.some(({ excused }) => excused) || (named && named.order !== order && !isShared);
  if (!isExplained) note(`the truth is refused: ${config.orders[order]}/${number} was not charged`);
  put(item, 'closed');
}

/** Another order or payment might have the transaction: what is decided there comes first. */
function endRefused(item: Case, truth: ServiceCharge, refused: string): void {
  const { world, config, order, number, note, round } = item;
  if (round < 6) return;
  const isTaken =
    truth.excused ||
    (truth.repeated &&
      world.records.some((record) =>
        record?.payments.some((it) => rules.holdsReference(it, truth.ref) && it.charge.is !== 'unknown'),
      ));
  if (!isTaken) note(`the truth is refused: ${config.orders[order]}/${number} is ${truth.ref} (${refused})`);
  put(item, 'closed');
}

/** Returns why a reference was refused. */
function giveReference({ world, order, number, record }: Case, { ref, other }: ServiceCharge): string {
  if (isHeldByOther(world, ref, order)) return 'another order holds it';
  const given = reviewer(`d${decisionIds++}`, rules.getSight(record, number, NOW));
  const named = rules.nameReference(record, number, ref, given);
  if (named.is !== 'done') return named.is;
  world.records[order] = named.record;
  const owned = takeVoid(world, ref, order) || claimReference(world, ref, order);
  const confirmed = rules.confirmReference(named.record, toMade(ref, owned, other), given);
  world.records[order] = confirmed;
  return owned ? '' : 'the claim is refused';
}

/** Returns what did not end, or what was paid and is known to nobody. */
function findUnended(world: World, config: Config): string {
  for (const [order, record] of world.records.entries()) {
    const broken = record && judgeEnd(record, config.kind);
    if (broken) return `${config.orders[order]} ${broken}`;
  }
  const unknown = world.charges.find(
    (charge) =>
      charge.status === 'success' &&
      !charge.excused &&
      !isPastFollowing(world, charge) &&
      !world.records.some((record) => record && isAccountedFor(record, charge.ref)),
  );
  return unknown ? `${unknown.ref} is paid at the service, and nobody hears of it` : '';
}

function judgeEnd(record: LedgerRecord, kind: Config['kind']): string {
  const state = rules.getState(record, NOW);
  const winner = record.payments[(record.winner ?? 0) - 1];
  const current = rules.findCurrent(record);
  if (state === 'in_review' || state === 'processing') return `stays ${state}`;
  if (rules.listOwed(record, NOW).length > 0) return 'owes a call for ever';
  if (kind === 'key')
    return winner && winner.told.final !== 'success' ? 'is paid, and onFinal is not owed' : '';
  if (winner && !winner.told.paid) return 'is paid, and onPaid is not owed';
  if (!winner && current && rules.isEnded(current) && !current.told.unpaid)
    return 'is unpaid, and onUnpaid is not owed';
  return rules.isPrunable(record, { now: NOW, before: NOW + 1 }) ? '' : 'can never be pruned';
}

const isAccountedFor = ({ payments, winner }: LedgerRecord, ref: string) =>
  payments.some(
    (payment, index) =>
      rules.referenceOf(payment) === ref && (index + 1 === winner || payment.charge.is === 'closed'),
  );
