import type { Journal } from '../../../src/journal/index.ts';

/** One order workflow of examples/workflows, for the scenarios. */
export interface WorkflowExample {
  /** The title, such as `BullMQ on Redis`. */
  readonly name: string;
  /** The folder in examples/workflows. Its `server.ts` charges in the request of the customer, and follows each payment. */
  readonly folder: string;
  /** Starts what the engine needs, on loopback and with its files in `folder`. */
  start(folder: string): Promise<RunningEngine>;
}

export interface RunningEngine {
  /** The variables that its commands need, besides those that every example gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens the journal of the shop's payments. */
  openJournal(): { journal: Journal; close(): void };
  stop(): Promise<void>;
}
