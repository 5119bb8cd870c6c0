import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DurableExecutionInvocationOutput } from '@aws/durable-execution-sdk-js';

/** A process that runs the function, one invocation at a time. */
export class LambdaEnvironment {
  readonly #process: ChildProcess;
  readonly #exited: Promise<undefined>;
  #event = Promise.withResolvers<object>();
  #output = Promise.withResolvers<DurableExecutionInvocationOutput>();

  /** `runtimeUrl`: where the process gets its events, and sends its responses. */
  constructor(runtimeUrl: string, env: NodeJS.ProcessEnv) {
    const program = fileURLToPath(import.meta.resolve('./lambda.ts'));
    this.#process = spawn(process.execPath, [program, runtimeUrl], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.#exited = once(this.#process, 'exit').then(() => undefined);
  }

  /** Runs an invocation. Resolves with `undefined` if the process is killed before its response. */
  invoke(event: object): Promise<DurableExecutionInvocationOutput | undefined> {
    this.#output = Promise.withResolvers();
    this.#event.resolve(event);
    return Promise.race([this.#output.promise, this.#exited]);
  }

  /** Waits for the event of the next invocation. */
  takeEvent(): Promise<object> {
    return this.#event.promise;
  }

  respond(output: DurableExecutionInvocationOutput): void {
    this.#event = Promise.withResolvers();
    this.#output.resolve(output);
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }
}
