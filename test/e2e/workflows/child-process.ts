import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A process of an example, whose output of errors is shown. */
export class ExampleProcess {
  readonly #child: ChildProcess;
  /** Resolves with the exit code once the process has ended: `null` if it was killed. */
  readonly ended: Promise<number | null>;

  constructor(command: string, args: readonly string[], options: SpawnOptions) {
    this.#child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', resolve);
    });
    this.#child.stdout?.resume();
    const onExit = () => void this.#child.kill('SIGKILL');
    process.once('exit', onExit);
    this.#child.once('exit', () => process.off('exit', onExit));
  }

  /** Waits for a line of its output. */
  async waitForLine(isWanted: (line: string) => boolean): Promise<string> {
    const { stdout } = this.#child;
    if (!stdout) throw new Error('The process has no output.');
    const found = Promise.withResolvers<string>();
    this.ended.then(
      (code) => found.reject(new Error(`The process exited with ${code} before it was ready.`)),
      found.reject,
    );
    createInterface({ input: stdout }).on('line', (line) => {
      if (isWanted(line)) found.resolve(line);
    });
    return found.promise;
  }

  /** Ends it by a signal, and returns its exit code. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const gone = once(this.#child, 'exit');
    this.#child.kill(signal);
    await gone;
    return this.#child.exitCode;
  }
}
