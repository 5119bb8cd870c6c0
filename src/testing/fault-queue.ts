import type { OperationName } from '../contract/operation.ts';
import { checkFault } from './check-fault.ts';
import type { Fault } from './faults.ts';

/** A fault that is still to come. */
export interface Scripted {
  readonly operation: OperationName;
  readonly fault: Fault;
  left: number;
}

/** The faults that are still to come, first in, first out for each operation. */
export class FaultQueue {
  #scripted: Scripted[] = [];

  get scripted(): readonly Readonly<Scripted>[] {
    return this.#scripted;
  }

  add(operation: OperationName, fault: Fault, times: number): void {
    checkFault(operation, fault);
    if (!(times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times > 0)))
      throw new RangeError(`times must be a whole number, 1 or more, or Infinity, not ${times}.`);
    this.#scripted.push({ operation, fault, left: times });
  }

  /** The fault for a request that is about to be answered; it is used up by that. */
  take(operation: OperationName): Fault | undefined {
    const scripted = this.#scripted.find((candidate) => candidate.operation === operation);
    if (scripted && --scripted.left === 0) {
      this.#scripted = this.#scripted.filter((candidate) => candidate !== scripted);
    }
    return scripted?.fault;
  }

  clear(): void {
    this.#scripted = [];
  }
}
