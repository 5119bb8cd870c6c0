import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a pool must know of a plan. The worker knows the rest. */
type AnyPlan =
  | { readonly kind: 'at'; readonly point: string; readonly nth: number }
  | { readonly kind: 'after'; readonly delay: number }
  | { readonly kind: 'paused' }
  | { readonly kind: 'none' };

/** What a pool must know of the settings of its workers. */
interface AnySettings {
  readonly generation: number;
  readonly lease: number;
  readonly killPlan: AnyPlan;
}

interface PoolOptions<Settings extends AnySettings> {
  /** The program of a worker. Its first argument is its settings, as JSON. */
  readonly program: URL;
  readonly folder: string;
  /** How many workers are killed before they are left alone. */
  readonly kills: number;
  planKill(generation: number): Settings['killPlan'];
  readonly signal?: AbortSignal | undefined;
}

interface RunningWorker {
  readonly process: ChildProcess;
  readonly killPlan: AnyPlan;
  /** How often it reached its kill point at the service. */
  reached: number;
  /** Whether it missed the deadline for its kill point. */
  isOverdue: boolean;
}

/** How long a worker is paused, in leases: long enough for a reviewer to wait, and to resolve its key. */
const PAUSE_LEASES = 6;

/** Starts the worker processes, kills them by their plans, and counts. */
export class WorkerPool<Settings extends AnySettings> {
  readonly #options: PoolOptions<Settings>;
  readonly #workers = new Map<number, RunningWorker>();
  readonly #killsAt = new Map<string, number>();
  readonly #killed = new Set<number>();
  #started = 0;
  #paused = 0;
  #ended = 0;

  constructor(options: PoolOptions<Settings>) {
    this.#options = options;
  }

  get counts() {
    const kills = this.#killed.size;
    const aimed = kills - (this.#killsAt.get('any time') ?? 0);
    const restarts = this.#started - this.#ended;
    return { kills, aimed, killsAt: this.#killsAt, paused: this.#paused, restarts };
  }

  /** The generations of the workers that were killed. */
  get killed(): ReadonlySet<number> {
    return this.#killed;
  }

  /** The generations of the workers that are running. */
  get running(): readonly number[] {
    return [...this.#workers.keys()];
  }

  /** Runs one process until it ends. */
  async runWorker(
    settings: Omit<Settings, 'generation' | 'killPlan'> & Pick<AnySettings, 'lease'>,
  ): Promise<'done' | 'killed'> {
    const { program, folder, kills, signal } = this.#options;
    const generation = this.#started++;
    const isEnough = this.#killed.size >= kills;
    const killPlan = isEnough ? ({ kind: 'none' } as const) : this.#options.planKill(generation);
    const { NODE_COMPILE_CACHE = join(folder, 'compiled') } = process.env;
    const child = fork(fileURLToPath(program), [JSON.stringify({ ...settings, generation, killPlan })], {
      execArgv: [],
      env: { ...process.env, NODE_COMPILE_CACHE },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const worker = { process: child, killPlan, reached: 0, isOverdue: false };
    this.#workers.set(generation, worker);
    this.#followPlan(worker, settings.lease);
    let stderr = '';
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const kill = () => child.kill('SIGKILL');
    signal?.addEventListener('abort', kill, { once: true });
    if (signal?.aborted) kill();

    const [code, endSignal] = await once(child, 'close');
    signal?.removeEventListener('abort', kill);
    this.#workers.delete(generation);
    if (code === 0) {
      this.#ended++;
      return 'done';
    }
    if (endSignal !== 'SIGKILL')
      throw new Error(`A worker failed by itself (${code ?? endSignal}): ${stderr}`);
    const point = killPlan.kind === 'at' && !worker.isOverdue ? killPlan.point : 'any time';
    this.#killsAt.set(point, (this.#killsAt.get(point) ?? 0) + 1);
    this.#killed.add(generation);
    return 'killed';
  }

  /** Kills or continues a worker from outside, after the message that its plan waits for. */
  #followPlan(worker: RunningWorker, lease: number): void {
    const { process: child, killPlan } = worker;
    const schedule = (delay: number, act: () => void) => {
      const timer = setTimeout(act, delay);
      child.once('exit', () => clearTimeout(timer));
    };
    child.on('message', (message) => {
      if (message === 'paused') {
        this.#paused++;
        schedule(PAUSE_LEASES * lease, () => child.kill('SIGCONT'));
      }
      if (message === 'overdue') worker.isOverdue = true;
      if (message === 'ready' && killPlan.kind === 'after')
        schedule(killPlan.delay, () => child.kill('SIGKILL'));
    });
  }

  /** The service has a request. Kills the worker that sent it, if its plan names this point. */
  onRequest(point: string, generation: number): void {
    const worker = this.#workers.get(generation);
    if (worker?.killPlan.kind !== 'at' || worker.killPlan.point !== point) return;
    if (++worker.reached === worker.killPlan.nth) worker.process.kill('SIGKILL');
  }

  /** Sends a message to every worker, or to one of them: the same for the same `at`, from 0 to 1. */
  send(message: object | string, at?: number): void {
    const running = [...this.#workers.values()].filter(({ process }) => process.connected);
    const chosen = at === undefined ? running : running.slice(Math.floor(at * running.length)).slice(0, 1);
    // A worker that is killed right now does not get it.
    for (const { process } of chosen) process.send(message, () => {});
  }

  killAll(): void {
    for (const { process } of this.#workers.values()) process.kill('SIGKILL');
  }
}
