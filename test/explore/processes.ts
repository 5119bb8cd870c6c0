/** What processes do: presses, requests, sweeps, handlers, prune and webhooks. What they do between two awaits is one step. */

import { claimReference } from './claims.ts';
import type { LedgerRecord, OwedCall, Payment } from './rules.ts';
import * as rules from './rules.ts';
import { answerCheck, listAnswers, times, toMade } from './service.ts';
import {
  type Answer,
  type AskKind,
  type Config,
  createAsk,
  createShort,
  type Found,
  LEASE,
  NOW,
  newId,
  type Process,
  SERVICE,
  toPrice,
  type World,
} from './world.ts';
import { type StepContext, write, writeLost } from './writes.ts';

/** What a process that does nothing can begin. */
export function listStarts(context: StepContext, index: number): void {
  const { world, config } = context;
  for (const [order, name] of config.orders.entries()) {
    if (world.budget.presses > 0) listPresses(context, order, index);
    const record = world.records[order];
    if (record) listOwnStarts(context, { order, name, record, index });
  }
}

function listPresses({ config, go }: StepContext, order: number, index: number): void {
  for (const ask of config.asks)
    go(`a customer presses for ${config.orders[order]}: ${JSON.stringify(ask)}`, (next) => {
      next.budget = { ...next.budget, presses: next.budget.presses - 1 };
      next.processes[index] = { at: 'press', order, ask };
      return undefined;
    });
}

/** What is done with a record that is there. */
function listOwnStarts(context: StepContext, begun: Begun): void {
  const { config, go } = context;
  if (config.sweep) listSweeps(context, begun);
  if (config.handlers) listCalls(context, begun);
  if (config.webhooks) listWebhooks(context, begun);
  if (config.prune && rules.isPrunable(begun.record, { now: NOW, before: NOW + 1 }))
    go(`prune deletes ${begun.name}`, (next) => prune(next, config, begun));
}

/** A record that a process is about to do something with. */
interface Begun {
  readonly order: number;
  readonly name: string;
  readonly record: LedgerRecord;
  /** Of the process. */
  readonly index: number;
}

function listSweeps({ world, config, go }: StepContext, { order, name, record, index }: Begun): void {
  for (const ref of listChecked(record))
    for (const status of listAnswers(world, config, ref))
      go(`a sweep asks for ${ref} of ${name}: ${status}`, (next) => {
        next.processes[index] = { at: 'checked', order, ref, found: answerCheck(next, config, ref, status) };
        return undefined;
      });
}

function listCalls({ go }: StepContext, { order, name, record, index }: Begun): void {
  for (const call of rules.listOwed(record, NOW))
    go(`${call.handler} is called for ${name}/${call.number} ${call.what ?? ''}`, (next) => {
      next.processes[index] = { at: 'told', order, call };
      return hear(next, order, call);
    });
}

/** A webhook finds its order by the claim of the reference. */
function listWebhooks({ world, go }: StepContext, { order, index }: Begun): void {
  for (const { ref } of world.charges) {
    const claim = world.claims[ref];
    if (claim?.owner === order)
      go(`a webhook names ${ref}`, (next) => {
        next.processes[index] = { at: 'webhook', order, ref };
        return undefined;
      });
  }
}

/** What a sweep could check: more than is due, since a check can come late. */
const listChecked = (record: LedgerRecord) =>
  new Set(
    record.payments.flatMap((payment) =>
      (payment.charge.is === 'made' && !rules.isSuccess(payment)) || rules.isFollowed(payment, NOW)
        ? (rules.referenceOf(payment) ?? [])
        : [],
    ),
  );
function prune(next: World, config: Config, { order, record, index }: Begun): string {
  const refs = record.payments.flatMap((payment) => rules.referenceOf(payment) ?? []);
  next.charges = next.charges.map((charge) => {
    const isHeld = refs.includes(charge.ref);
    const winner = record.payments[(record.winner ?? 0) - 1];
    const isOver = charge.ended && charge.status !== 'success';
    const isTold = winner?.told.paid && rules.referenceOf(winner) === charge.ref;
    return isHeld && (isOver || isTold) ? { ...charge, excused: true } : charge;
  });
  next.processes[index] = { at: 'pruned', order, refs };
  next.records[order] = null;
  next.heard[order] = {};
  next.asked[order] = null;
  const isLeft =
    rules.listAttention(record, NOW).length > 0 ||
    (config.handlers && rules.listOwed(record, NOW).length > 0) ||
    record.payments.some((payment) => rules.isOpen(payment, NOW) || rules.isFollowed(payment, NOW));
  return isLeft ? 'prune takes what is open, owed, followed or listed' : '';
}

/** A handler hears of something. */
function hear(next: World, order: number, { handler, number, attempt, what }: OwedCall): string {
  const heard = next.heard[order] ?? {};
  if (handler === 'onPaid') {
    next.heard[order] = { ...heard, paid: attempt };
    if (heard.paid !== undefined && heard.paid !== attempt) return 'onPaid for two payments';
    return next.records[order]?.winner === number ? '' : 'onPaid for no winner';
  }
  const words = new Set((heard[attempt] ?? '').split(' ').filter(Boolean));
  const record = next.records[order];
  if (handler === 'onUnpaid' && record && rules.getState(record, NOW) !== 'unpaid')
    return 'onUnpaid is called, and the order is not unpaid';
  words.add(handler === 'onUnpaid' ? 'unpaid' : (what ?? ''));
  next.heard[order] = { ...heard, [attempt]: [...words].sort().join(' ') };
  return '';
}

export function listProcessSteps(context: StepContext, process: Process, index: number): void {
  const { go } = context;
  const isWaiting = process.at !== 'press' && process.at !== 'told' && process.at !== 'webhook';
  if (isWaiting)
    go(`the process that is ${process.at} dies`, (next) => {
      next.processes[index] = null;
      return undefined;
    });
  switch (process.at) {
    case 'press':
      listPressSteps(context, process, index);
      break;
    case 'claimed':
    case 'sent':
      listSendSteps(context, process, index);
      break;
    case 'answered':
      listOutcomeSteps(context, process, index);
      break;
    case 'named':
      listNamedSteps(context, process, index);
      break;
    case 'checked':
      listCheckedSteps(context, process, index);
      break;
    case 'told':
      listToldSteps(context, process, index);
      break;
    case 'pruned':
      listPrunedSteps(context, process, index);
      break;
    case 'webhook':
      go(`the webhook about ${process.ref} is recorded`, (next) => {
        next.processes[index] = null;
        const record = next.records[process.order] ?? null;
        return write(next, context.config, process.order, record && rules.notify(record, process.ref, NOW));
      });
  }
}

type At<Name extends Process['at']> = Extract<Process, { at: Name }>;

function listPressSteps(context: StepContext, process: At<'press'>, index: number): void {
  const [ref] = process.checks ?? [];
  if (ref === undefined) listDecisions(context, process, index);
  else if (process.found) listPressRecords(context, process, { ref, found: process.found, index });
  else listPressChecks(context, process, ref, index);
}

function listPressChecks(
  { world, config, go }: StepContext,
  process: At<'press'>,
  ref: string,
  index: number,
): void {
  const { order, ask } = process;
  for (const status of listAnswers(world, config, ref))
    go(`the press asks for ${ref}: ${status}`, (next) => {
      next.processes[index] = { ...process, found: answerCheck(next, config, ref, status) };
      return undefined;
    });
  go(`the press gets no answer about ${ref}, and begins nothing`, (next) => {
    const record = next.records[order] ?? null;
    next.processes[index] = null;
    if (record?.winner === undefined) next.asked[order] = ask.price;
    const asked = record && rules.askPrice(record, toPrice(ask.price));
    return write(next, config, order, rules.check(asked, ref, { is: 'temporary' }, times(NOW)));
  });
}

/** The price that a press asks for is recorded in the write of its check. */
function listPressRecords(
  context: StepContext,
  { order, ask, checks = [] }: At<'press'>,
  { ref, found, index }: { ref: string; found: Found; index: number },
): void {
  const { world, config, go } = context;
  const record = world.records[order] ?? null;
  const asked = record && rules.askPrice(record, toPrice(ask.price));
  const checked = rules.check(asked, ref, found.finding, times(found.askedAt));
  const noteAsked = (next: World) => {
    if (record && record.winner === undefined) next.asked[order] = ask.price;
  };
  const label = `the press records ${ref}`;
  writeLost(context, label, { order, record: checked }, noteAsked);
  go(label, (next) => {
    const left = checks.slice(1);
    next.processes[index] = { at: 'press', order, ask, ...(left.length > 0 && { checks: left }) };
    noteAsked(next);
    return write(next, config, order, checked) || findDroppedCheck(record, checked, ref, found);
  });
}

/** The decision and the claim are one write. */
function listDecisions(context: StepContext, process: At<'press'>, index: number): void {
  const { world, config, go } = context;
  const { order, ask } = process;
  const record = world.records[order] ?? null;
  const attempt = process.attempt ?? newId(world);
  const { another = false } = ask;
  const claimed = { at: 'claimed', order, ask, attempt, until: NOW + LEASE, another: false } as const;
  const asked = createAsk(ask, attempt, config);
  const pressing = { ask: asked, lease: LEASE, since: NOW, now: NOW, startAnother: another };
  const { record: after, decision } = rules.press(record, { kind: config.kind, service: SERVICE }, pressing);
  const label = `the press decides for ${config.orders[order]}: ${decision.do}`;
  const broken = findWrongDecision(context, process, decision.do);
  const noteAsked = (next: World) => {
    const isRecorded = decision.do !== 'check' && decision.do !== 'again';
    if (isRecorded && record?.winner === undefined) next.asked[order] = ask.price;
  };
  if (decision.do !== 'check')
    writeLost(context, label, { order, record: after }, (next) => {
      next.processes[index] = { at: 'press', order, ask, attempt };
      noteAsked(next);
    });
  go(label, (next) => {
    noteAsked(next);
    const isAnother = another && record !== null && rules.getState(record, NOW) !== 'unpaid';
    next.processes[index] = goOnAfter(decision, after, { ...claimed, another: isAnother });
    if (decision.do === 'check') return broken;
    return write(next, config, order, after) || broken;
  });
}

/** Returns what the process of a press does next. */
function goOnAfter(
  decision: rules.PressDecision,
  { payments }: LedgerRecord,
  claimed: At<'claimed'>,
): Process | null {
  const { order, ask, attempt } = claimed;
  switch (decision.do) {
    case 'check':
      return { at: 'press', order, ask, checks: [...decision.references] };
    case 'again':
      return { at: 'press', order, ask };
    case 'send': {
      const charge = payments.find((payment) => payment.attempt === attempt)?.charge;
      return { ...claimed, until: charge?.is === 'sending' ? charge.until : NOW };
    }
    default:
      return null;
  }
}

/** What a press must not decide. */
function findWrongDecision(
  { world }: StepContext,
  { order, ask, attempt }: At<'press'>,
  decision: string,
): string {
  const record = world.records[order] ?? null;
  const own = record?.payments.find((payment) => payment.attempt === attempt);
  if (own && decision !== 'send' && decision !== 'again') return 'a process does not recognise its own claim';
  if (decision !== 'send') return '';
  if (!record || !own) return findDoubleStart(world, order, ask);
  const others = { ...record, payments: record.payments.filter((payment) => payment !== own) };
  return ['paid', 'in_review'].includes(rules.getState(others, NOW))
    ? 'a claim is sent although the order forbids it'
    : '';
}

/** A payment must not begin while an earlier one is open, unresolved or paid, or could be paid as last reported. */
function findDoubleStart(world: World, order: number, ask: AskKind): string {
  const record = world.records[order] ?? null;
  const payments = record?.payments ?? [];
  const isAnother = ask.another === true && record !== null && rules.getState(record, NOW) !== 'unpaid';
  const open = payments.filter((payment) => rules.isOpen(payment, NOW));
  const isOpenAttempt = (attempt: string) => open.some((payment) => payment.attempt === attempt);
  if (isAnother && payments.some((payment) => rules.isUnresolved(payment, NOW) || rules.isPaid(payment)))
    return 'startAnother begins over something unresolved or paid';
  const { operation, phone, amount } = createShort(ask);
  if (
    open.some(
      (payment) => payment.operation === operation && payment.phone === phone && payment.amount === amount,
    )
  )
    return 'a phone is asked twice for the same';
  const stale = payments.find((payment) => isStale(payment));
  if (stale) return 'a payment begins, and an earlier one that might be paid was not checked';
  const canBePaid = ({ ref, attempt, ended }: World['charges'][number]) =>
    isAnother ? !(record && rules.namesReference(record, ref)) && !isOpenAttempt(attempt) : !ended;
  const charge = world.charges.find((item) => item.order === order && !item.excused && canBePaid(item));
  if (charge) return `a payment begins while ${charge.ref} (${charge.status}) can be paid`;
  const flight = world.flights.find((item) => item.order === order && !item.excused);
  return flight && !(isAnother && isOpenAttempt(flight.attempt))
    ? 'a payment begins while a request is on its way'
    : '';
}

function isStale(payment: Payment): boolean {
  const times = [payment.createdAt, rules.seenOf(payment)?.askedAt ?? 0];
  const mightBePaid = payment.charge.is === 'made' && (rules.isOpen(payment, NOW) || rules.isEnded(payment));
  return mightBePaid && times.every((at) => at <= NOW - 1_000);
}

/** What a check found counts: a success always, and an older check never changes what a newer one found. */
function findDroppedCheck(
  before: LedgerRecord | null,
  after: LedgerRecord | null,
  ref: string,
  { finding, askedAt }: Found,
): string {
  const find = (record: LedgerRecord | null) =>
    record?.payments.find(({ charge }) => charge.is === 'made' && charge.result.reference === ref);
  const [was, is] = [find(before), find(after)];
  if (!was || !is) return '';
  const isSuccess = finding.is === 'answered' && finding.status === 'success';
  if (isSuccess && !rules.isSuccess(is)) return `a check found the success of ${ref}, and it is not recorded`;
  const { askedAt: last = 0, status, notFoundSince } = rules.seenOf(was) ?? {};
  const seen = rules.seenOf(is);
  const isChanged = seen?.status !== status || seen?.notFoundSince !== notFoundSince;
  return !isSuccess && last <= NOW && askedAt < last && isChanged ? `an older check of ${ref} counts` : '';
}

function listSendSteps(context: StepContext, process: At<'claimed' | 'sent'>, index: number): void {
  const { config, go } = context;
  const { order, ask, attempt, until, another } = process;
  const set = (next: World, value: Process) => {
    next.processes[index] = value;
  };
  if (config.heartbeat && until <= NOW)
    go('the process renews its claim', (next) => {
      const record = rules.renew(next.records[order] ?? null, attempt, { lease: LEASE, now: NOW });
      if (!record) return undefined;
      set(next, { ...process, until: NOW + LEASE });
      return write(next, config, order, record);
    });
  if (process.at === 'claimed') {
    const isLive = until > NOW;
    if (isLive || config.sendsLate)
      go('the POST leaves', (next) => {
        next.flights.push({ order, attempt, ask, another });
        set(next, { ...process, at: 'sent' });
        return undefined;
      });
    go(isLive ? 'no connection is made' : 'the lease is over, and nothing is sent', (next) => {
      set(next, { at: 'answered', order, ask, attempt, answer: { is: 'none' } });
      return undefined;
    });
  } else
    go('the response is lost', (next) => {
      set(next, { at: 'answered', order, ask, attempt, answer: { is: 'unknown' } });
      return undefined;
    });
}
function toOutcome({ is, ref, other }: Answer, isClaimed: boolean): rules.AttemptOutcome {
  if (is === 'made' && ref !== undefined) return toMade(ref, isClaimed, other);
  if (is === 'none') return { is, why: 'rejected' };
  return { is: 'unknown', reference: ref, isClaimed };
}

function listOutcomeSteps(context: StepContext, process: At<'answered'>, index: number): void {
  const { world, config, go } = context;
  const { order, ask, attempt, answer, owned } = process;
  const { ref } = answer;
  if (ref !== undefined && owned === undefined) {
    go(`the process claims ${ref}`, (next) => {
      const isClaimed = claimReference(next, ref, order);
      next.processes[index] = { ...process, owned: isClaimed };
      return undefined;
    });
    return;
  }
  const owner = { kind: config.kind, service: SERVICE } as const;
  const outcome = toOutcome(answer, owned ?? true);
  const before = world.records[order] ?? null;
  const { record, claims } = rules.complete(before, owner, createAsk(ask, attempt, config), outcome, NOW);
  const label = `the process records that the charge is ${answer.is}`;
  writeLost(context, label, { order, record: record });
  go(label, (next) => {
    const isNamed = claims !== undefined && ref !== undefined;
    next.processes[index] = isNamed ? { at: 'named', order, by: attempt, answer: { ...answer, ref } } : null;
    const broken = write(next, config, order, record);
    if (broken || ref === undefined) return broken;
    return record && rules.namesReference(record, ref)
      ? ''
      : `a response named ${ref}, and the order does not`;
  });
}

function listNamedSteps(context: StepContext, process: At<'named'>, index: number): void {
  const { world, config, go } = context;
  const { order, by, answer, owned } = process;
  if (owned === undefined) {
    go(`the process claims ${answer.ref}, which it named`, (next) => {
      const isClaimed = claimReference(next, answer.ref, order);
      next.processes[index] = { ...process, owned: isClaimed };
      return undefined;
    });
    return;
  }
  const made = toMade(answer.ref, owned, answer.other);
  const before = world.records[order] ?? null;
  const record = rules.recordClaim(before, by, made, NOW);
  const isClosed = before?.payments.some(({ attempt, charge }) => attempt === by && charge.is === 'closed');
  const isPaying = record?.payments.some(
    (payment) => rules.ownsReference(payment, answer.ref) && !rules.isNone(payment),
  );
  writeLost(context, `the process confirms ${answer.ref}`, { order, record: record });
  go(`the process confirms ${answer.ref}${owned ? '' : ' is shared'}`, (next) => {
    next.processes[index] = null;
    if (isClosed && isPaying && record !== before)
      return 'a response to an attempt that a person closed is made a payment';
    return write(next, config, order, record);
  });
}

function listCheckedSteps(context: StepContext, process: At<'checked'>, index: number): void {
  const { world, config, go } = context;
  const { order, ref, found } = process;
  const before = world.records[order] ?? null;
  const record = rules.check(before, ref, found.finding, times(found.askedAt));
  writeLost(context, `the sweep records ${ref}`, { order, record: record });
  go(`the sweep records ${ref}`, (next) => {
    next.processes[index] = null;
    return write(next, config, order, record) || findDroppedCheck(before, record, ref, found);
  });
}

function listToldSteps({ world, config, go }: StepContext, { order, call }: At<'told'>, index: number): void {
  go('it is recorded that the handler was told', (next) => {
    next.processes[index] = null;
    return write(next, config, order, rules.tell(world.records[order] ?? null, call));
  });
  go('the process dies after the call of the handler', (next) => {
    next.processes[index] = null;
    return undefined;
  });
}

/** What prune leaves is tidied up: claims that are void, by their version. */
function listPrunedSteps({ world, go }: StepContext, process: At<'pruned'>, index: number): void {
  const { order, version } = process;
  const [ref, ...refs] = process.refs;
  if (ref === undefined) {
    go('prune is done', (next) => {
      next.processes[index] = null;
      return undefined;
    });
    return;
  }
  const claim = world.claims[ref];
  if (version === undefined)
    go(`prune reads the claim of ${ref}`, (next) => {
      const isVoid = claim?.owner === order && rules.isClaimVoid(next.records[order] ?? null, ref);
      next.processes[index] = isVoid ? { ...process, version: claim.version } : { at: 'pruned', order, refs };
      return undefined;
    });
  else
    go(`prune deletes the claim of ${ref}`, (next) => {
      if (claim?.owner === order && claim.version === version) delete next.claims[ref];
      next.processes[index] = { at: 'pruned', order, refs };
      return undefined;
    });
}
