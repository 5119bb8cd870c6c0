import type { OperationName } from '../api/operations.ts';
import { type Fault, validateFault } from './faults.ts';

/** A fault for the next requests of an operation. */
export interface QueuedFault {
  readonly operation: OperationName;
  readonly fault: Fault;
  /** How many requests it still breaks. */
  remaining: number;
}

/** The faults that a test has ordered: first in, first out for each operation. */
export class FaultQueue {
  #pending: QueuedFault[] = [];

  /** What has not been used up, in the order in which it was added. */
  get pending(): readonly Readonly<QueuedFault>[] {
    return this.#pending;
  }

  add(operation: OperationName, fault: Fault, times: number): void {
    validateFault(operation, fault);
    validateTimes(times);
    this.#pending.push({ operation, fault, remaining: times });
  }

  /** Takes the fault for one request of an operation. */
  take(operation: OperationName): Fault | undefined {
    const queued = this.#pending.find((candidate) => candidate.operation === operation);
    if (queued && --queued.remaining === 0) {
      this.#pending = this.#pending.filter((candidate) => candidate !== queued);
    }
    return queued?.fault;
  }

  clear(): void {
    this.#pending = [];
  }
}

/** @throws {RangeError} if it cannot be how often a fault happens */
export function validateTimes(times: number): void {
  if (times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times > 0)) return;
  throw new RangeError(`times must be a whole number, 1 or more, or Infinity, not ${times}.`);
}
