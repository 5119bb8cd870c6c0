import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { findAmountIssue, isSameAmount } from '../../src/api/money.ts';
import { initialize } from '../../src/api/operations.ts';

/** A range of amounts in hundredths, with both ends, and the step between amounts. */
export interface Range {
  from: number;
  to: number;
  step: number;
}

export interface SweepResult {
  amounts: number;
  /** How many of them also went through the operation's schemas. */
  throughOperation: number;
  /** The first wrong amounts, each with the promise that it broke. */
  broken: string[];
}

/** Coprime to 100, so that every fraction occurs with every kind of whole number. */
const STRIDE = 997;
const hundredths = Array.from({ length: 100 }, (_, cents) => String(cents).padStart(2, '0'));
const shortest = hundredths.map((digits) => (digits === '00' ? '' : `.${digits.replace(/0$/, '')}`));

/** Compares each amount of a range with texts made from whole numbers only, so that no float checks itself. */
export function sweep({ from, to, step }: Range): SweepResult {
  const broken: string[] = [];
  let amounts = 0;
  let throughOperation = 0;
  for (let cents = from; cents <= to && broken.length < 20; cents += step) {
    amounts++;
    const whole = (cents - (cents % 100)) / 100;
    const onTheWire = `${whole}${shortest[cents % 100]}`;
    const received = `${whole}.${hundredths[cents % 100]}`;
    const promise = brokenPromise(cents, onTheWire, received);
    if (promise) broken.push(`${received}: ${promise}`);
    if (cents % STRIDE === 0) {
      throughOperation++;
      if (!goesThroughOperation(cents, onTheWire, received)) broken.push(`${received}: the operation`);
    }
  }
  return { amounts, throughOperation, broken };
}

function brokenPromise(cents: number, onTheWire: string, received: string): string | null {
  // Division rounds correctly, so this is the same double as the literal `25.5`.
  const amount = cents / 100;
  if (findAmountIssue(amount) !== null) return 'is taken as a number';
  if (findAmountIssue(received) !== null) return 'is taken as text';
  if (Number(received) !== amount) return 'is one number, however it was given';
  if (JSON.stringify(amount) !== onTheWire) return 'is written exactly';
  if (!isSameAmount(received, amount)) return 'compares back as equal';
  if (isSameAmount(received, (cents - 1) / 100)) return 'is not taken for its neighbour';
  return null;
}

function goesThroughOperation(cents: number, onTheWire: string, received: string): boolean {
  const payment = {
    reference: 'TXN-1',
    checkout_url: 'https://pay.example/TXN-1',
    currency: 'GHS',
    replayed: false,
  };
  return [cents / 100, received].every((amount) => {
    const read = initialize.input.safeParse({ amount, customer_email: 'ama@example.com' });
    if (!read.success) return false;
    const { data } = read;
    return (
      JSON.stringify(data).includes(`"amount":${onTheWire},`) &&
      initialize.findMismatches({ ...payment, amount: received }, data).length === 0 &&
      initialize.findMismatches({ ...payment, amount: `${received}1` }, data).length === 1
    );
  });
}

if (parentPort) {
  // With low priority, because some of the other tests measure time. On Linux it is this thread alone.
  setPriority(constants.priority.PRIORITY_LOW);
  parentPort.postMessage(sweep(workerData));
}
