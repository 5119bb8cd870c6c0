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

/** Failures are what these tests are about. */
export const logger = new DefaultLogger('ERROR');

const START = Date.parse('2026-03-02T08:00:00Z');

/** For what a sandbox may do beside the workflow itself. */
const random = {
  random: Math.random,
  uuid4: () => crypto.randomUUID(),
  fillRandom: (bytes: Uint8Array) => bytes.fill(7),
};

/** What a workflow asked for and was told, to replay it. */
export interface Recorded {
  readonly told: coresdk.workflow_activation.IWorkflowActivation;
  readonly asked: string;
}

/**
 * A workflow in Temporal's own sandbox, told what a server would tell it, as Temporal's own tests do it. Its clock is
 * moved by hand; its activities run for real, in a MockActivityEnvironment.
 */
export class SimulatedRun {
  readonly history: Recorded[] = [];
  /** The pause of each timer that was set, in milliseconds. */
  readonly pauses: number[] = [];
  /** The name of each activity that ran, and how it ended. */
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

  /** Starts it, and goes on until it waits. */
  static async start(
    creator: WorkflowCreator,
    activities: Readonly<Record<string, Activity>>,
    args: readonly unknown[],
  ): Promise<SimulatedRun> {
    const run = new SimulatedRun(await newWorkflow(creator), activities);
    await run.#tell({
      initializeWorkflow: {
        workflowId: 'order-1',
        workflowType: 'orderWorkflow',
        arguments: args.map((arg) => defaultPayloadConverter.toPayload(arg)),
        startTime: msToTs(START),
      },
    });
    return run;
  }

  /** Moves the clock to the next timer, and goes on until it waits again. */
  async nextTimer(): Promise<void> {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one - other);
    if (!next) throw new Error('The workflow waits for no timer.');
    const [seq, due] = next;
    this.#timers.delete(seq);
    this.elapsed = due;
    await this.#tell({ fireTimer: { seq } });
  }

  /** Timer after timer, until `isSo` or the end. */
  async timersUntil(isSo: () => boolean): Promise<void> {
    while (this.result === undefined && !isSo()) await this.nextTimer();
  }

  signal(signalName: string): Promise<void> {
    return this.#tell({ signalWorkflow: { signalName, input: [] } });
  }

  cancel(): Promise<void> {
    return this.#tell({ cancelWorkflow: { reason: 'somebody cancelled it' } });
  }

  async #tell(job: Job): Promise<void> {
    const told = { runId: 'run-1', timestamp: msToTs(START + this.elapsed), historyLength: 3, jobs: [job] };
    const commands = await commandsOf(this.#workflow, told);
    this.history.push({ told, asked: JSON.stringify(commands) });
    for (const command of commands) this.#obey(command);
    const [activity] = this.#scheduled.splice(0, 1);
    if (activity) await this.#run(activity);
  }

  #obey({ startTimer, cancelTimer, scheduleActivity, ...rest }: Command): void {
    if (startTimer) {
      const pause = tsToMs(startTimer.startToFireTimeout);
      this.pauses.push(pause);
      this.#timers.set(startTimer.seq ?? 0, this.elapsed + pause);
    }
    if (cancelTimer) this.#timers.delete(cancelTimer.seq ?? 0);
    if (scheduleActivity) this.#scheduled.push(scheduleActivity);
    if (rest.completeWorkflowExecution)
      this.result = defaultPayloadConverter.fromPayload(rest.completeWorkflowExecution.result ?? {});
    if (rest.failWorkflowExecution)
      this.result = new Error(rest.failWorkflowExecution.failure?.message ?? '');
  }

  /** As a worker runs an activity, and a server has it run again. */
  async #run(scheduled: coresdk.workflow_commands.IScheduleActivity): Promise<void> {
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
        return await this.#tell({ resolveActivity: { seq, result: { completed } } });
      } catch (error) {
        if (!(error instanceof ApplicationFailure)) throw error;
        this.ran.push(`${name}: ${error.type}`);
        if (error.nonRetryable) return await this.#tell({ resolveActivity: failed(seq, name, error) });
      }
    }
  }
}

/** Feeds a run to a fresh workflow, and gives what that asks for. */
export async function replayed(creator: WorkflowCreator, history: readonly Recorded[]): Promise<string[]> {
  const workflow = await newWorkflow(creator);
  const asked: string[] = [];
  for (const { told } of history)
    asked.push(JSON.stringify(await commandsOf(workflow, { ...told, isReplaying: true })));
  return asked;
}

async function commandsOf(
  workflow: Workflow,
  told: coresdk.workflow_activation.IWorkflowActivation,
): Promise<readonly Command[]> {
  const { successful, failed } = await workflow.activate(
    coresdk.workflow_activation.WorkflowActivation.fromObject(told),
  );
  if (failed) throw new Error(failed.failure?.message ?? 'The workflow task failed.');
  return successful?.commands ?? [];
}

function newWorkflow(creator: WorkflowCreator): Promise<Workflow> {
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

/** An activity's failure as a worker reports it and a server passes it on. */
function failed(seq: number | null, name: string, error: ApplicationFailure) {
  const cause = defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);
  const activityFailureInfo = { activityId: String(seq), activityType: { name }, identity: 'worker' };
  return {
    seq,
    result: { failed: { failure: { message: 'Activity task failed', cause, activityFailureInfo } } },
  };
}
