/**
 * What must hold, by name. Each is asked when something happens, and returns what is wrong. The ledger of the service decides, not
 * what the package has recorded.
 */

import type { FinalPayment } from '../../src/follow-ups/index.ts';
import { AuthenticationError } from '../../src/index.ts';
import { referenceOf } from '../../src/ledger/payment.ts';
import { parseLedgerRecord } from '../../src/ledger/record.ts';
import type { OrderStatus, PaidPayment, UnpaidPayment } from '../../src/orders/index.ts';
import type { JournalEntry } from '../../src/stores/index.ts';
import { parseJson } from '../../src/support/untrusted.ts';
import { type Facts, MAX_AMOUNT, MINUTE, type Press, REQUEST_TIMEOUT } from './facts.ts';
import type { Post, Request } from './network.ts';
import { type Charge, isOpen, statusOf, wasEndedSince, wasPaid } from './service.ts';
import { BASE_URL } from './shop.ts';
import type { World } from './world.ts';

/** What can be asked about. */
export interface Occasions {
  /** A process asks for something. */
  asked: Request;
  /** A request left a process. */
  sent: { post: Post };
  /** The service made a charge. */
  accepted: { charge: Charge };
  /** A call returned how far an order is. `since`: when the call began. */
  status: { status: OrderStatus; since: number; what: string };
  onPaid: PaidPayment;
  onUnpaid: UnpaidPayment;
  onFinal: FinalPayment;
  /** A person resolved a payment, and got its entry back. */
  resolved: { entry: JournalEntry; resolution: unknown };
  /** A call ended. `awake`: for how long its process ran meanwhile; `abortedFor`: how long of that after an abort. */
  ended: { what: string; awake: number; limit: number; abortedFor?: number | undefined; press?: Press };
  /** The record of an order or a key was deleted. */
  deleted: { name: string };
  /** A record is written. */
  written: { key: string; text: string };
  /** A client of another service was asked about an order, and did not refuse. */
  strayed: { what: string; result: unknown };
  /** A webhook was handed over. `warned`: it was said that it has no reference. */
  notified: { body: unknown; reference: string | undefined; warned: boolean };
  /** Nothing is left to happen. */
  end: { readonly orders: readonly string[] };
}

type Known = Pick<World, 'service' | 'network' | 'facts' | 'clock' | 'database'>;

type Invariants = {
  [Occasion in keyof Occasions]: Record<
    string,
    (known: Known, subject: Occasions[Occasion]) => string | undefined | false
  >;
};

const SECOND = 1_000;
const DAY = 24 * 60 * MINUTE;

export const invariants: Invariants = {
  asked: {
    'another service is asked for nothing of this one': (_, { url }) => !url.startsWith(BASE_URL) && url,
  },

  sent: {
    'a request leaves within its time limit': (_, { post }) =>
      post.sentAt - post.calledAt > REQUEST_TIMEOUT + SECOND &&
      `${post.press} left after ${post.sentAt - post.calledAt} ms`,
    'an attempt is sent once': ({ network }, { post }) =>
      network.posts.some((other) => other !== post && other.requestId === post.requestId) &&
      `${post.requestId} was sent twice`,
    'a request leaves under a claim that holds': ({ facts, clock, database }, { post }) => {
      const payments = findRecord(facts, post.order)?.payments ?? [];
      const charge = payments.find((payment) => payment.requestIds.includes(post.requestId))?.charge;
      const isHeld = charge?.is === 'sending' && clock.readWall(database.host) < charge.until;
      return !isHeld && !facts.isDatabaseClockSet && `${post.press} left, and its claim is over`;
    },
  },

  accepted: {
    'nothing above maxAmount is charged': (_, { charge }) =>
      Number(charge.asked) > MAX_AMOUNT && charge.asked,
    'an order that is known to be paid is not charged': ({ facts }, { charge }) => {
      const press = facts.presses.get(charge.press);
      const paid = facts.knownPaid.get(charge.order);
      return press && paid && paid.at < press.startedAt && charge.reference;
    },
    'nothing is charged while an earlier charge might be paid': (known, { charge }) => {
      const { facts } = known;
      const press = facts.presses.get(charge.press);
      if (press?.startAnother || facts.misjudged.has(charge.order)) return undefined;
      const other = findUndecided(known, charge).find(
        (earlier) =>
          !(press && (isBegunBeside(known, earlier, press) || isMisreported(known, earlier, press))) &&
          !wasEndedSince(earlier, (press?.startedAt ?? 0) - SECOND),
      );
      return other && `${charge.reference} beside ${other.reference}`;
    },
    'startAnother asks no phone twice for the same': (known, { charge }) => {
      const { facts } = known;
      const press = facts.presses.get(charge.press);
      if (!press?.startAnother || facts.misjudged.has(charge.order) || charge.phone === undefined)
        return undefined;
      const other = findUndecided(known, charge).find(
        (earlier) =>
          earlier.phone === charge.phone &&
          earlier.asked === charge.asked &&
          !wasEndedSince(earlier, press.startedAt - SECOND),
      );
      return other && `${charge.reference} beside ${other.reference}`;
    },
    'startAnother charges no order that is paid': (known, { charge }) => {
      const { facts } = known;
      const press = facts.presses.get(charge.press);
      if (!press?.startAnother || facts.misjudged.has(charge.order)) return undefined;
      // What the service said to a check less than a second before a press counts for it.
      const other = findUndecided(known, charge).find(
        (earlier) =>
          wasPaid(earlier, press.startedAt - 2 * SECOND) &&
          !isMisreported(known, earlier, press) &&
          !isUnheard(known, earlier, press),
      );
      return other && `${charge.reference} beside ${other.reference}, which was paid`;
    },
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
    'unpaid only if nothing might be charged': (known, { status, since, what }) => {
      const { service, network, facts } = known;
      const { order, state } = status;
      if (state !== 'unpaid' || facts.misjudged.has(order)) return undefined;
      const open = network.posts
        .filter((post) => post.order === order && post.sentAt < since)
        .map(({ reference }) => service.find(reference))
        // It can have been answered with the charge of another order.
        .find(
          (charge) =>
            charge &&
            facts.isOf(charge, order) &&
            !facts.isDecided(charge.reference) &&
            !wasEndedSince(charge, 0),
        );
      return open && `${what}: ${open.reference} of ${order} might be paid`;
    },
    'a press tells what its response has named': ({ network }, { status, what }) => {
      const heard = network.posts.find((post) => post.isHeard && what === `press ${post.press}`);
      const isTold = status.payments.some(({ reference }) => reference === heard?.reference);
      return heard && !isTold && `${what}: ${heard.reference}`;
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
      return charge.amount !== payment.amount && `${order}: ${charge.amount} instead of ${payment.amount}`;
    },
    'paid at the price last asked for, or accepted': ({ service, facts }, { order, payment }) => {
      const charge = service.find(payment.reference);
      if (!charge || facts.accepted.has(charge.reference) || facts.misjudged.has(order)) return undefined;
      const last = findLastPrice(facts, order, facts.knownPaid.get(order)?.at ?? 0);
      if (!last || wasPaid(charge, last.endedAt)) return undefined;
      return last.amount !== payment.amount && `${order}: ${payment.amount} instead of ${last.amount}`;
    },
    'onPaid for one payment of an order only': ({ facts }, { order, payment }) => {
      const before = facts.delivered.get(order);
      return (
        before &&
        before.reference !== payment.reference &&
        `${order} for ${before.reference}, then ${payment.reference}`
      );
    },
    'one transaction pays one order': ({ facts }, { order, payment }) => {
      for (const [other, { reference }] of facts.delivered)
        if (reference === payment.reference && other !== order) return `${reference}: ${other} and ${order}`;
      return undefined;
    },
  },

  onUnpaid: {
    'onUnpaid only if the payment ended': ({ service }, { order, payment }) => {
      const charge = service.find(payment.reference);
      return charge && !wasEndedSince(charge, 0) && `${order} for ${payment.reference}`;
    },
  },

  onFinal: {
    'onFinal tells a status that the service had': ({ service }, { key, reference, transaction }) => {
      const charge = service.find(reference);
      const isTrue = charge?.history.some(({ status }) => status === transaction.status);
      return !isTrue && `${key}: ${transaction.status} of ${reference}`;
    },
  },

  resolved: {
    'what was decided leaves the list': (_, { entry, resolution }) =>
      resolution === 'closed' && entry.attention !== undefined && `${entry.key}: ${entry.attention}`,
  },

  ended: {
    'a call ends within its limits': (_, { what, awake, limit }) =>
      awake > limit && `${what} took ${Math.round(awake)} ms`,
    'an abort ends a call at once if nothing was sent': ({ network }, { what, abortedFor = 0, press }) => {
      const hasBegun = press !== undefined && network.begun.has(press.id);
      return !hasBegun && abortedFor > 2 * SECOND && `${what} went on for ${Math.round(abortedFor)} ms`;
    },
  },

  written: {
    'no personal data is stored': (_, { key, text }) =>
      /@example|@\*|02441234|Ama|sk_test/.test(text) && `${key}: ${text}`,
  },

  strayed: {
    'a client of another service is refused': (_, { what, result }) => `${what}: ${JSON.stringify(result)}`,
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
          facts.isOf(charge, name) &&
          !isAccounted(facts, charge) &&
          !wasEndedBefore(charge, clock.now - 6 * DAY),
      );
      return open && `${open.reference} of ${name}`;
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
          !facts.isDecided(charge.reference) &&
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

const findUndecided = ({ service, facts }: Known, charge: Charge) =>
  service.charges.filter(
    (other) => facts.isOf(other, charge.order) && other !== charge && !facts.isDecided(other.reference),
  );

/** Whether a charge was begun beside a press, by `startAnother`. */
function isBegunBeside({ network, facts }: Known, charge: Charge, { startedAt }: Press): boolean {
  const { startAnother = false } = facts.presses.get(charge.press) ?? {};
  return (
    startAnother &&
    network.posts.some(({ reference, sentAt }) => reference === charge.reference && sentAt >= startedAt)
  );
}

/** The checks of a press can know no more than the service said to them. */
const isMisreported = ({ service }: Known, { reference }: Charge, { startedAt }: Press) =>
  (service.misreported.get(reference) ?? Number.NEGATIVE_INFINITY) >= startedAt - SECOND;

/**
 * Its own call has not returned, or the journal did not take what it returned: so the shop knows nothing of its transaction, and takes
 * it for one that is being sent, as long as the lease holds by the clock of the database.
 */
function isUnheard({ facts }: Known, charge: Charge, { startedAt }: Press): boolean {
  const { endedAt = Number.POSITIVE_INFINITY } = facts.presses.get(charge.press) ?? {};
  const isHeld = facts.isDatabaseClockSet || startedAt - charge.acceptedAt < MINUTE;
  const isRecorded = findRecord(facts, charge.order)?.payments.some(
    (payment) => payment.charge.is === 'made' && referenceOf(payment) === charge.reference,
  );
  return isHeld && (endedAt >= startedAt || !isRecorded);
}

/** What has ended is checked for seven days more. */
const wasEndedBefore = ({ history }: Charge, time: number) =>
  history.some(({ at, status }) => (status === 'failed' || status === 'abandoned') && at < time);

const isAccounted = (facts: Facts, { reference }: Charge) =>
  facts.isDecided(reference) ||
  facts.isForgotten(reference) ||
  facts.finals.has(`${reference} success`) ||
  [...facts.delivered.values()].some((paid) => paid.reference === reference);

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
  return isAlone ? { amount: last.amount, endedAt: last.endedAt } : undefined;
}
