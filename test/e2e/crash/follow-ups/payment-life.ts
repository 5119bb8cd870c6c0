import { pickWeighted, seededRandom } from '../seeded-random.ts';
import type { Charge } from '../service.ts';

/** How often a payment has each fate, in percent. */
const fateWeights = {
  success: 44,
  failed: 12,
  abandoned: 8,
  /** Pending for ever. */
  stuck: 8,
  /** A status for ever that the client does not know. */
  unrecognised: 4,
  'wrong amount': 5,
  'wrong currency': 3,
  'wrong reference': 4,
  /** Another amount for a while, then the right one, and success. */
  'wrong amount at first': 2,
  /** 404 for ever. */
  gone: 5,
  /** 404 for a while, then success. */
  'not found at first': 5,
};

type Fate = keyof typeof fateWeights;

/** What happens to a payment at the service, from its charge on. */
export interface PaymentLife {
  readonly charge: Charge;
  readonly fate: Fate;
  /** When the service made the charge, in milliseconds since 1970. */
  readonly chargedAt: number;
  /** Until when it is not found, or has another amount, in milliseconds since 1970. */
  readonly oddUntil: number;
  /** When its status becomes final, in milliseconds since 1970. */
  readonly finalAt: number;
  /** The status that it ends with, if it ends. */
  readonly finalStatus: 'success' | 'failed' | 'abandoned' | undefined;
}

/** Decides the life of a payment that was charged now. One in five becomes final after the deadline. */
export function startLife(seed: number, charge: Charge, deadline: number): PaymentLife {
  const { key } = charge;
  const fate = pickWeighted(fateWeights, seededRandom(seed, 'fate', key));
  const chargedAt = Date.now();
  const span = seededRandom(seed, 'late', key) < 0.2 ? 2 * deadline : 0.8 * deadline;
  return {
    charge,
    fate,
    chargedAt,
    oddUntil: chargedAt + seededRandom(seed, 'odd', key) * Math.min(0.4 * deadline, 8_000),
    finalAt: chargedAt + seededRandom(seed, 'final', key) * span,
    finalStatus: finalStatuses[fate],
  };
}

const finalStatuses: Record<Fate, PaymentLife['finalStatus']> = {
  success: 'success',
  failed: 'failed',
  abandoned: 'abandoned',
  stuck: undefined,
  unrecognised: undefined,
  'wrong amount': 'success',
  'wrong currency': 'success',
  'wrong reference': 'success',
  'wrong amount at first': 'success',
  gone: undefined,
  'not found at first': 'success',
};

/** What the service says of a payment at a time. `undefined`: it does not find it. */
export interface Reading {
  readonly reference: string;
  readonly status: string;
  readonly amount: string;
  readonly currency: string;
  /** Whether the payment is final, and everything is as it was charged. */
  readonly isFinal: boolean;
  /** Whether it is not what was charged. */
  readonly isMismatch: boolean;
}

export function readPayment(life: PaymentLife, now: number): Reading | undefined {
  const { charge, fate, oddUntil, finalAt, finalStatus } = life;
  const { reference, amount } = charge;
  const isOdd = now < oddUntil;
  if (fate === 'gone' || (fate === 'not found at first' && isOdd)) return undefined;
  const hasEnded = finalStatus !== undefined && now >= finalAt;
  const isWrongAmount = fate === 'wrong amount' || (fate === 'wrong amount at first' && isOdd);
  const isWrong = isWrongAmount || fate === 'wrong currency' || fate === 'wrong reference';
  return {
    reference: fate === 'wrong reference' ? `${reference}9` : reference,
    status: hasEnded ? finalStatus : readOpenStatus(life, now),
    amount: isWrongAmount ? (Number(amount) + 10).toFixed(2) : amount,
    currency: fate === 'wrong currency' ? 'NGN' : 'GHS',
    isFinal: hasEnded && !isWrong,
    isMismatch: isWrong,
  };
}

function readOpenStatus({ fate, chargedAt, finalAt }: PaymentLife, now: number): string {
  if (fate === 'unrecognised') return 'on_hold';
  const progress = (now - chargedAt) / (finalAt - chargedAt);
  if (progress < 0.3) return 'pending';
  return progress > 0.6 && progress < 0.7 ? 'awaiting_pin' : 'processing';
}
