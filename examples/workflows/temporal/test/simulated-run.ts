import {
  ApplicationFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  TypedSearchAttributes,
} from '@temporalio/common';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { coresdk } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { Workflow, WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';

type Job = coresdk.workflow_activation.IWorkflowActivationJob;
type Command = coresdk.workflow_commands.IWorkflowCommand;
type Activity = (...args: never[]) => Promise<unknown>;

/** Hides warnings, because these tests cause failures on purpose. */
export const logger = new DefaultLogger('ERROR');

const START = Date.parse('2026-03-02T08:00:00Z');

/** Random values for the sandbox itself, not for the workflow. */
const random = {
  random: Math.random,
  uuid4: () => crypto.randomUUID(),
  fillRandom: (bytes: Uint8Array) => bytes.fill(7),
};

/** An activation of a workflow and the commands that it gave, as JSON, for a replay. */
export interface RecordedTask {
  readonly activation: coresdk.workflow_activation.IWorkflowActivation;
  readonly commands: string;
}

/**
 * Runs a workflow in Temporal's own sandbox, with the activations that a server would send, as Temporal's own tests do. The
 * test moves its clock. Its activities run for real, in a MockActivityEnvironment.
 */
export class SimulatedRun {
  readonly history: RecordedTask[] = [];
  /** The delay of each timer that was set, in milliseconds. */
  readonly delays: number[] = [];
  /** The name of each activity that ran, and the type of its error. */
  readonly ran: string[] = [];
  result: unknown;
  elapsed = 0;
  readonly #workflow: Workflow;
  readonly #activities: Readonly<Record<string, Activity>>;
  readonly #timers = new Map<number, number>();
  #scheduled: coresdk.workflow_commands.IScheduleActivity[] = [];

  private constructor(workflow: Workflow, activities: Readonly<Record<string, Activity>>) {
    this.#workflow = workflow;
    this.#activities = activities;
  }

  /** Starts the workflow and runs it until it waits. */
  static async start(
    creator: WorkflowCreator,
    activities: Readonly<Record<string, Activity>>,
    args: readonly unknown[],
  ): Promise<SimulatedRun> {
    const run = new SimulatedRun(await createWorkflow(creator), activities);
    await run.#activate({
      initializeWorkflow: {
        workflowId: 'order-1',
        workflowType: 'orderWorkflow',
        arguments: args.map((arg) => defaultPayloadConverter.toPayload(arg)),
        startTime: msToTs(START),
      },
    });
    return run;
  }

  /** Moves the clock to the next timer and runs the workflow until it waits again. */
  async nextTimer(): Promise<void> {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one - other);
    if (!next) throw new Error('The workflow waits for no timer.');
    const [seq, due] = next;
    this.#timers.delete(seq);
    this.elapsed = due;
    await this.#activate({ fireTimer: { seq } });
  }

  /** Fires timer after timer, until the condition holds or the workflow ends. */
  async timersUntil(isDone: () => boolean): Promise<void> {
    while (this.result === undefined && !isDone()) await this.nextTimer();
  }

  signal(signalName: string): Promise<void> {
    return this.#activate({ signalWorkflow: { signalName, input: [] } });
  }

  cancel(): Promise<void> {
    return this.#activate({ cancelWorkflow: { reason: 'cancelled by a test' } });
  }

  async #activate(job: Job): Promise<void> {
    const activation = {
      runId: 'run-1',
      timestamp: msToTs(START + this.elapsed),
      historyLength: 3,
      jobs: [job],
    };
    const commands = await activate(this.#workflow, activation);
    this.history.push({ activation, commands: JSON.stringify(commands) });
    for (const command of commands) this.#apply(command);
    const [activity] = this.#scheduled.splice(0, 1);
    if (activity) await this.#runActivity(activity);
  }

  #apply({ startTimer, cancelTimer, scheduleActivity, ...rest }: Command): void {
    if (startTimer) {
      const delay = tsToMs(startTimer.startToFireTimeout);
      this.delays.push(delay);
      this.#timers.set(startTimer.seq ?? 0, this.elapsed + delay);
    }
    if (cancelTimer) this.#timers.delete(cancelTimer.seq ?? 0);
    if (scheduleActivity) this.#scheduled.push(scheduleActivity);
    if (rest.completeWorkflowExecution)
      this.result = defaultPayloadConverter.fromPayload(rest.completeWorkflowExecution.result ?? {});
    if (rest.failWorkflowExecution)
      this.result = new Error(rest.failWorkflowExecution.failure?.message ?? '');
  }

  /** Runs an activity as a worker does, and again as a server asks for. */
  async #runActivity(scheduled: coresdk.workflow_commands.IScheduleActivity): Promise<void> {
    const { seq = null, activityType, arguments: payloads } = scheduled;
    const name = activityType ?? '';
    const activity = this.#activities[name];
    if (!activity) throw new Error(`There is no activity ${name}.`);
    const args = (payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload<never>(payload));
    for (;;) {
      try {
        const result = await new MockActivityEnvironment({}, { logger }).run(activity, ...args);
        this.ran.push(name);
        const completed = { result: defaultPayloadConverter.toPayload(result) };
        return await this.#activate({ resolveActivity: { seq, result: { completed } } });
      } catch (error) {
        if (!(error instanceof ApplicationFailure)) throw error;
        this.ran.push(`${name}: ${error.type}`);
        if (error.nonRetryable)
          return await this.#activate({ resolveActivity: toActivityFailure(seq, name, error) });
      }
    }
  }
}

/** Replays a run in a new workflow. Returns the commands of each task as JSON. */
export async function replay(creator: WorkflowCreator, history: readonly RecordedTask[]): Promise<string[]> {
  const workflow = await createWorkflow(creator);
  const commands: string[] = [];
  for (const { activation } of history)
    commands.push(JSON.stringify(await activate(workflow, { ...activation, isReplaying: true })));
  return commands;
}

async function activate(
  workflow: Workflow,
  activation: coresdk.workflow_activation.IWorkflowActivation,
): Promise<readonly Command[]> {
  const { successful, failed } = await workflow.activate(
    coresdk.workflow_activation.WorkflowActivation.fromObject(activation),
  );
  if (failed) throw new Error(failed.failure?.message ?? 'The workflow task failed.');
  return successful?.commands ?? [];
}

function createWorkflow(creator: WorkflowCreator): Promise<Workflow> {
  const startTime = new Date(START);
  return creator.createWorkflow({
    info: {
      workflowId: 'order-1',
      workflowType: 'orderWorkflow',
      runId: 'run-1',
      firstExecutionRunId: 'run-1',
      originalExecutionRunId: 'run-1',
      namespace: 'default',
      taskQueue: 'orders',
      attempt: 1,
      taskTimeoutMs: 10_000,
      historyLength: 3,
      historySize: 300,
      continueAsNewSuggested: false,
      targetWorkerDeploymentVersionChanged: false,
      searchAttributes: {},
      typedSearchAttributes: new TypedSearchAttributes(),
      startTime,
      runStartTime: startTime,
      unsafe: { now: Date.now, isReplaying: false, isReplayingHistoryEvents: false, random },
    },
    randomnessSeed: [1, 2, 3, 4],
    now: START,
    showStackTraceSources: false,
  });
}

/** Returns the failure of an activity as a worker reports it, and a server passes it on. */
function toActivityFailure(seq: number | null, name: string, error: ApplicationFailure) {
  const cause = defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);
  const activityFailureInfo = { activityId: String(seq), activityType: { name }, identity: 'worker' };
  return {
    seq,
    result: { failed: { failure: { message: 'Activity task failed', cause, activityFailureInfo } } },
  };
}
