import type { Journal } from '../../../src/journal/index.ts';

/** One order workflow of examples/workflows, for the scenarios. */
export interface WorkflowExample {
  /** The title, such as `BullMQ on Redis`. */
  readonly name: string;
  /** The folder in examples/workflows. It has `worker.ts`, `place-order.ts` and `payment-webhook.ts`. */
  readonly folder: string;
  /**
   * Whether the order is charged within the customer's request, and follow-ups do the rest. Then `server.ts` takes the place
   * of `worker.ts`, and `place-order.ts` ends with the response.
   */
  readonly hasFollowUps?: boolean;
  /** Starts what the engine needs, on loopback and with its files in `folder`. */
  start(folder: string): Promise<RunningEngine>;
}

export interface RunningEngine {
  /** The variables that the three commands need, besides those that every example gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Called once a worker is up: an engine that calls its workers needs their address. */
  workerStarted?(): Promise<void>;
  /** Opens the journal of the shop's payments. */
  openJournal?(): { journal: Journal; close(): void };
  stop(): Promise<void>;
}
