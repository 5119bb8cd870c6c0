/**
 * What must hold, by name. Each is asked when something happens, and returns what is wrong. The ledger of the service decides, not
 * what the package has recorded.
 */

import type { FinalPayment } from '../../src/follow-ups/index.ts';
import { AuthenticationError, type Transaction } from '../../src/index.ts';
import { isSamePrice, referenceOf } from '../../src/ledger/payment.ts';
import { parseLedgerRecord } from '../../src/ledger/record.ts';
import type { OrderStatus, PaidPayment, UnpaidPayment } from '../../src/orders/index.ts';
import type { JournalEntry } from '../../src/stores/index.ts';
import { parseJson } from '../../src/support/untrusted.ts';
import { DAY, MINUTE, SECOND } from './clock.ts';
import { type Facts, MAX_AMOUNT, type Press, REQUEST_TIMEOUT } from './facts.ts';
import type { Post, Request } from './network.ts';
import { type Charge, isOpen, statusOf, wasEndedBefore, wasEndedSince, wasPaid } from './service.ts';
import { BASE_URL, type Process } from './shop.ts';
import type { World } from './world.ts';

/** What can be asked about. */
export interface Occasions {
  /** A process asks for something. */
  asked: Request;
  /** A request left a process. */
  sent: Post;
  /** The service made a charge. */
  accepted: Charge;
  /** A call returned how far an order is. `since`: when the call began. */
  status: { status: OrderStatus; since: number; what: string };
  onPaid: PaidPayment;
  onUnpaid: UnpaidPayment;
  onFinal: FinalPayment;
  /** A call about a transaction returned it. */
  told: { reference: string; expect: { amount: string }; transaction: Transaction };
  /** A person resolved a payment, and got its entry back. */
  resolved: { entry: JournalEntry; resolution: unknown; reason: string };
  /** A call ended. `awake`: for how long its process ran meanwhile; `abortedFor`: how long of that after an abort. */
  ended: { what: string; awake: number; limit: number; abortedFor: number; press: Press };
  /** A process has closed. */
  left: { process: Process; unrecorded: readonly string[]; haveEnded: boolean };
  /** The record of an order or a key was deleted. */
  deleted: { name: string };
  /** A record is written. */
  written: { key: string; text: string };
  /** A client of another service was asked about an order. */
  strayed: { what: string; result: unknown; isRefused: boolean };
  /** A webhook was handed over. `warned`: it was said that it has no reference. */
  notified: { body: unknown; reference: string | undefined; warned: boolean };
  /** Nothing is left to happen: what an order is. */
  last: OrderStatus;
  /** Nothing is left to happen. */
  end: { readonly orders: readonly string[] };
}

type Check<Subject> = (world: World, subject: Subject) => string | undefined | false;

export const invariants: { [Occasion in keyof Occasions]: Record<string, Check<Occasions[Occasion]>> } = {
  asked: {
    'another service is asked for nothing of this one': (_, { url }) => !url.startsWith(BASE_URL) && url,
  },

  sent: {
    'a request leaves within its time limit': (_, { press, sentAt, calledAt }) =>
      sentAt - calledAt > REQUEST_TIMEOUT + SECOND && `${press} left after ${sentAt - calledAt} ms`,
    'an attempt is sent once': ({ network }, post) =>
      network.posts.some((other) => other !== post && other.requestId === post.requestId) &&
      `${post.requestId} was sent twice`,
    'a request leaves under a claim that holds': (
      { facts, clock, database },
      { order, press, requestId },
    ) => {
      const payments = findRecord(facts, order)?.payments ?? [];
      const charge = payments.find((payment) => payment.requestIds.includes(requestId))?.charge;
      const isHeld = charge?.is === 'sending' && clock.readWall(database.host) < charge.until;
      return !isHeld && !facts.isDatabaseClockSet && `${press} left, and its claim is over`;
    },
  },

  accepted: {
    'nothing above maxAmount is charged': (_, { asked }) => Number(asked) > MAX_AMOUNT && asked,
    'an order that is known to be paid is not charged': ({ facts }, { press, order, reference }) => {
      const paid = facts.knownPaid.get(order);
      return paid && paid.at < (facts.presses.get(press)?.startedAt ?? 0) && reference;
    },
    'nothing is charged while an earlier charge might be paid': (world, charge) =>
      findBeside(
        world,
        charge,
        false,
        (earlier, startedAt) =>
          !isBegunBeside(world, earlier, startedAt) &&
          !isMisreported(world, earlier, startedAt) &&
          !wasEndedSince(earlier, startedAt - SECOND),
      ),
    'startAnother asks no phone twice for the same': (world, charge) =>
      findBeside(
        world,
        charge,
        true,
        (earlier, startedAt) =>
          charge.phone !== undefined &&
          earlier.phone === charge.phone &&
          earlier.asked === charge.asked &&
          earlier.currency === charge.currency &&
          !isMisreported(world, earlier, startedAt) &&
          !wasEndedSince(earlier, startedAt - SECOND),
      ),
    'startAnother charges no order that is paid': (world, charge) =>
      findBeside(
        world,
        charge,
        true,
        // What the service said to a check less than a second before a press counts for it.
        (earlier, startedAt) =>
          wasPaid(earlier, startedAt - 2 * SECOND) &&
          !isMisreported(world, earlier, startedAt) &&
          !isUnheard(world, earlier, startedAt),
      ),
  },

  status: {
    'a wrong API key does not hide in a status': (_, { status }) =>
      'error' in status && status.error instanceof AuthenticationError && status.order,
    'paid only if the service says success': ({ service }, { status }) => {
      if (status.state !== 'paid') return undefined;
      const charge = service.find(status.payment.reference);
      return !(charge && wasPaid(charge)) && `${status.order} by ${status.payment.reference}`;
    },
    'the winner never changes': ({ facts }, { status }) => {
      if (status.state !== 'paid') return undefined;
      const before = facts.knownPaid.get(status.order);
      return (
        before && before.reference !== status.payment.reference && `${status.order}: ${before.reference}`
      );
    },
    'unpaid only if nothing might be charged': ({ service, network, facts }, { status, since, what }) => {
      const { order, state } = status;
      if (state !== 'unpaid' || facts.misjudged.has(order)) return undefined;
      const open = network.posts
        .filter((post) => post.order === order && post.sentAt < since)
        .map(({ reference }) => service.find(reference))
        // It can have been answered with the charge of another order.
        .find(
          (charge) =>
            charge &&
            isOf(facts, charge, order) &&
            !facts.isDecided(charge.reference) &&
            !wasEndedSince(charge),
        );
      return open && `${what}: ${open.reference} of ${order} might be paid`;
    },
    'a press tells what its response has named': ({ network }, { status, what }) => {
      const heard = network.posts.find((post) => post.isHeard && what === `press ${post.press}`);
      const isTold = status.payments.some(({ reference }) => reference === heard?.reference);
      // A person can have decided about the payment before the press reads the order. Then its error alone has the name.
      const isInError = String('error' in status && status.error?.message).includes(`${heard?.reference}`);
      return heard && !isTold && !isInError && `${what}: ${heard.reference}`;
    },
    'what a call knows of the money is in its status': ({ service, facts }, { status, since }) => {
      const paid = facts.knownPaid.get(status.order);
      return (
        paid !== undefined &&
        paid.at < since &&
        status.state !== 'paid' &&
        `${status.order} is ${status.state}, and was paid by ${paid.reference} (${service.charges.length})`
      );
    },
  },

  onPaid: {
    'onPaid only if the service says success': ({ service }, { order, payment }) => {
      const charge = service.find(payment.reference);
      return !(charge && wasPaid(charge)) && `${order} for ${payment.reference}`;
    },
    'onPaid tells what was paid': ({ service }, { order, payment, transaction }) => {
      const charge = service.find(payment.reference);
      return charge && charge.amount !== transaction.amount && `${order}: ${transaction.amount}`;
    },
    'paid at the right price, or accepted': ({ service, facts }, { order, payment }) => {
      const charge = service.find(payment.reference);
      if (!charge || facts.accepted.has(charge.reference)) return undefined;
      return !isSamePrice(charge, payment) && `${order}: ${charge.amount} instead of ${payment.amount}`;
    },
    'paid at the price last asked for, or accepted': ({ service, facts }, { order, payment }) => {
      const charge = service.find(payment.reference);
      if (!charge || facts.accepted.has(charge.reference) || facts.misjudged.has(order)) return undefined;
      const last = findLastPrice(facts, order, facts.knownPaid.get(order)?.at ?? 0);
      if (!last || wasPaid(charge, last.endedAt)) return undefined;
      return !isSamePrice(last, payment) && `${order}: ${payment.amount} instead of ${last.amount}`;
    },
    'onPaid for one payment of an order only': ({ facts }, { order, payment }) => {
      const before = facts.delivered.get(order);
      return before && before !== payment.reference && `${order} for ${before}, then ${payment.reference}`;
    },
    'one transaction pays one order': ({ facts }, { order, payment }) => {
      for (const [other, reference] of facts.delivered)
        if (reference === payment.reference && other !== order) return `${reference}: ${other} and ${order}`;
      return undefined;
    },
  },

  onUnpaid: {
    'onUnpaid only if the payment ended': ({ service }, { order, payment }) => {
      const charge = service.find(payment.reference);
      return charge && !wasEndedSince(charge) && `${order} for ${payment.reference}`;
    },
  },

  onFinal: {
    'onFinal tells a status that the service had': ({ service }, { key, reference, transaction }) => {
      const charge = service.find(reference);
      const isTrue = charge?.history.some(({ status }) => status === transaction.status);
      return !isTrue && `${key}: ${transaction.status} of ${reference}`;
    },
  },

  told: {
    'a call tells what the service said of the transaction': ({ service }, { reference, transaction }) => {
      const isTrue = service.find(reference)?.history.some(({ status }) => status === transaction.status);
      const isFinal = ['success', 'failed', 'abandoned'].includes(transaction.status);
      return (
        (transaction.reference !== reference || (isFinal && !isTrue)) &&
        `${transaction.status} of ${reference}`
      );
    },
    'a call rejects what is not as expected': (_, { reference, expect, transaction }) =>
      transaction.amount !== expect.amount && `${reference}: ${transaction.amount}`,
  },

  resolved: {
    'what was decided leaves the list': (_, { entry, resolution, reason }) =>
      // A check can list it again, because it was paid after all.
      resolution === 'closed' && entry.attention === reason && `${entry.key}: ${entry.attention}`,
  },

  ended: {
    'a call ends within its limits': (_, { what, awake, limit }) =>
      awake > limit && `${what} took ${Math.round(awake)} ms`,
    'an abort ends a call at once if nothing was sent': (_, { what, abortedFor, press }) =>
      !press.hasConnected && abortedFor > 2 * SECOND && `${what} went on for ${Math.round(abortedFor)} ms`,
  },

  left: {
    'close waits until each outcome is recorded': (_, { unrecorded }) => unrecorded.join(),
    'run resolves when the client closes': (_, { process, haveEnded }) => !haveEnded && process.name,
    'close leaves no timer': ({ clock }, { process }) => {
      const left = clock.countTimersOf(process);
      return left > 0 && `${process.name} has ${left}`;
    },
  },

  written: {
    'no personal data is stored': (_, { key, text }) =>
      /@example|@\*|24412345[67]|Ama|sk_test/.test(text) && `${key}: ${text}`,
  },

  strayed: {
    'a client of another service is refused': (_, { what, result, isRefused }) =>
      !isRefused && `${what}: ${JSON.stringify(result) ?? result}`,
  },

  notified: {
    'a body without a reference is said': (_, { body, reference, warned }) =>
      reference === undefined && !warned && `${body}`,
    'the reference is found in each form of a body': (_, { body, reference, warned }) =>
      reference !== undefined && warned && `${reference} in ${body}`,
  },

  deleted: {
    'prune takes nothing open, or that ended within the last days': ({ service, facts, clock }, { name }) => {
      if (facts.misjudged.has(name)) return undefined;
      const open = service.charges.find(
        (charge) =>
          isOf(facts, charge, name) &&
          !isAccounted(facts, charge) &&
          // What has ended is checked for seven days more.
          !wasEndedBefore(charge, clock.now - 6 * DAY),
      );
      return open && `${open.reference} of ${name}`;
    },
  },

  last: {
    'each order comes to an end': (_, { order, state }) =>
      (state === 'in_review' || state === 'processing') && `${order} is ${state}`,
    'delivered if paid': ({ facts }, status) => {
      const { order, state } = status;
      const by = facts.delivered.get(order);
      if (state !== 'paid') return by && `${order} is ${state}`;
      const { reference = '' } = status.payment;
      return by !== reference && !facts.forgotten.has(reference) && `${order} is paid`;
    },
  },

  end: {
    'whatever is paid is the winner, or decided': ({ service, network, facts }) => {
      // What a person was wrong about is known if a process heard of it, and lived on.
      const isKnown = ({ reference, order }: Charge) =>
        !facts.misjudged.has(order) ||
        network.posts.some(
          (post) =>
            post.isHeard && post.reference === reference && post.sender && !facts.crashed.has(post.sender),
        );
      const lost = service.charges.find(
        (charge) => statusOf(charge) === 'success' && !isAccounted(facts, charge) && isKnown(charge),
      );
      return lost && `${lost.reference} of ${lost.order} is paid, and nobody hears of it`;
    },
    'onFinal is told of each end of a key': ({ service, facts }, { orders }) => {
      const untold = service.charges.find(
        (charge) =>
          !orders.includes(charge.order) &&
          // It can have paid an order instead, whose request the service took for the same.
          !facts.isHeld(charge.reference) &&
          !isOpen(charge) &&
          !charge.isForgotten &&
          !facts.finals.has(`${charge.reference} ${statusOf(charge)}`),
      );
      return untold && `${untold.reference} is ${statusOf(untold)}`;
    },
  },
};

/** The limit of a call that sends, or checks what is open before that, and of its steps on the database. */
export const CALL_LIMIT = 8 * MINUTE;

/** The record of an order or a key, as the database has it. */
const findRecord = ({ records }: Facts, name: string) =>
  parseLedgerRecord(parseJson(records.get(`order ${name}`) ?? records.get(`key ${name}`)));

/** Whether a charge was made for an order or key, and a person has not found it to be another's. */
const isOf = (facts: Facts, { order, reference }: Charge, name: string) =>
  order === name && !facts.heldElsewhere.has(`${name} ${reference}`);

/** Finds what must not stand beside a charge, with `startAnother` or without. `startedAt`: of its press. */
function findBeside(
  { service, facts }: World,
  charge: Charge,
  startAnother: boolean,
  isWrong: (earlier: Charge, startedAt: number) => boolean,
): string | undefined {
  // The calls under one key are told apart by nothing.
  const press = facts.presses.get(charge.press) ?? {
    startAnother: false,
    startedAt: Number.POSITIVE_INFINITY,
  };
  if (press.startAnother !== startAnother || facts.misjudged.has(charge.order)) return undefined;
  const isUndecided = (other: Charge) =>
    other !== charge && isOf(facts, other, charge.order) && !facts.isDecided(other.reference);
  const other = service.charges.find((earlier) => isUndecided(earlier) && isWrong(earlier, press.startedAt));
  return other && `${charge.reference} beside ${other.reference}`;
}

/** Whether a charge was begun beside a press, by `startAnother`. */
function isBegunBeside({ network, facts }: World, charge: Charge, startedAt: number): boolean {
  const { startAnother = false } = facts.presses.get(charge.press) ?? {};
  return (
    startAnother &&
    network.posts.some(({ reference, sentAt }) => reference === charge.reference && sentAt >= startedAt)
  );
}

/** The checks of a press can know no more than the service said to them. */
const isMisreported = ({ service }: World, { reference }: Charge, startedAt: number) =>
  (service.misreported.get(reference) ?? Number.NEGATIVE_INFINITY) >= startedAt - SECOND;

/**
 * Its own call has not returned, or the journal did not take what it returned: so the shop knows nothing of its transaction, and takes
 * it for one that is being sent, as long as the lease holds by the clock of the database.
 */
function isUnheard({ facts }: World, charge: Charge, startedAt: number): boolean {
  const { endedAt = Number.POSITIVE_INFINITY } = facts.presses.get(charge.press) ?? {};
  const isHeld = facts.isDatabaseClockSet || startedAt - charge.acceptedAt < MINUTE;
  const isRecorded = findRecord(facts, charge.order)?.payments.some(
    (payment) => payment.charge.is === 'made' && referenceOf(payment) === charge.reference,
  );
  return isHeld && (endedAt >= startedAt || !isRecorded);
}

const isAccounted = (facts: Facts, { reference }: Charge) =>
  facts.isHeld(reference) || facts.finals.has(`${reference} success`);

/** The last press before a time that found the order under way, if none was made beside it or after it. */
function findLastPrice(facts: Facts, order: string, before: number) {
  const presses = [...facts.presses.values()].filter(
    (press) => press.order === order && press.startedAt <= before && Number(press.amount) <= MAX_AMOUNT,
  );
  const last = presses.reduce<Press | undefined>(
    (latest, press) => (latest && latest.startedAt >= press.startedAt ? latest : press),
    undefined,
  );
  if (!last?.endedAt || last.endedAt > before || last.state !== 'processing') return undefined;
  const isAlone = presses.every(
    (press) => press === last || (press.endedAt !== undefined && press.endedAt < last.startedAt),
  );
  return isAlone ? { ...last, endedAt: last.endedAt } : undefined;
}
