import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** Executes the commands of the parent, one after another. The process ends with its parent. */
export function serveParent(commands: Readonly<Record<string, (value: unknown) => unknown>>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', async (message) => {
    const { command, value } = Object(message);
    try {
      process.send?.({ result: await commands[command]?.(value) });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? error.stack : String(error) });
    }
  });
  process.send?.('ready');
}

/** A process that executes commands, one after another. */
export class Child implements Disposable {
  readonly #process: ChildProcess;
  readonly #exit = new AbortController();

  private constructor(child: ChildProcess) {
    this.#process = child;
    child.once('exit', (code, signal) => {
      this.#exit.abort(new Error(`A process of the benchmark ended with ${code ?? signal}.`));
    });
  }

  /** Starts a file of this folder, and waits until it serves its parent. It reads `value` with {@link readValue}. */
  static async start(file: string, value: object = {}, execArgv: string[] = []): Promise<Child> {
    const child = new Child(fork(new URL(file, import.meta.url), [JSON.stringify(value)], { execArgv }));
    await child.#receive();
    return child;
  }

  async request<Result>(command: string, value: unknown = null): Promise<Result> {
    this.#process.send({ command, value });
    const { result, error } = await this.#receive();
    if (error !== undefined) throw new Error(error);
    return result;
  }

  async #receive() {
    const { signal } = this.#exit;
    const [message] = await once(this.#process, 'message', { signal }).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error;
    });
    return message;
  }

  [Symbol.dispose](): void {
    if (this.#process.connected) this.#process.disconnect();
  }
}

/** Returns what the parent started this process with. */
export function readValue() {
  return JSON.parse(process.argv[2] ?? '{}');
}
