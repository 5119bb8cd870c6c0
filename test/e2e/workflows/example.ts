/** One order workflow of examples/workflows, as the scenarios drive it. */
export interface WorkflowExample {
  /** As a title: `BullMQ on Redis`. */
  readonly name: string;
  /** Below examples/workflows. It has `worker.ts`, `place-order.ts` and `payment-hint.ts`. */
  readonly folder: string;
  /** Starts what the engine needs, on loopback and with files of its own below `folder`. */
  start(folder: string): Promise<RunningEngine>;
  /** How long the engine may take by itself before it looks at a killed worker's job again, in milliseconds. */
  readonly takesOverAfter: number;
}

export interface RunningEngine {
  /** What the three commands need to reach it, besides what every example gets. */
  readonly env: Readonly<Record<string, string>>;
  /** Called once a worker is up: an engine that pushes has to be told where it is. */
  workerStarted?(): Promise<void>;
  /** How many rows or keys the engine has, for the table. */
  rows(): Promise<number>;
  stop(): Promise<void>;
}
