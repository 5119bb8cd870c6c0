import type { OperationName } from '../contract/operation.ts';
import { checkFault } from './check-fault.ts';
import type { Fault } from './faults.ts';

/** A fault that is still to come. */
export interface QueuedFault {
  readonly operation: OperationName;
  readonly fault: Fault;
  remaining: number;
}

/** The faults that are still to come, first in, first out for each operation. */
export class FaultQueue {
  #scripted: QueuedFault[] = [];

  get scripted(): readonly Readonly<QueuedFault>[] {
    return this.#scripted;
  }

  add(operation: OperationName, fault: Fault, times: number): void {
    checkFault(operation, fault);
    if (!(times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times > 0)))
      throw new RangeError(`times must be a whole number, 1 or more, or Infinity, not ${times}.`);
    this.#scripted.push({ operation, fault, remaining: times });
  }

  /** The fault for a request that is about to be answered; it is used up by that. */
  next(operation: OperationName): Fault | undefined {
    const scripted = this.#scripted.find((candidate) => candidate.operation === operation);
    if (scripted && --scripted.remaining === 0) {
      this.#scripted = this.#scripted.filter((candidate) => candidate !== scripted);
    }
    return scripted?.fault;
  }

  clear(): void {
    this.#scripted = [];
  }
}
