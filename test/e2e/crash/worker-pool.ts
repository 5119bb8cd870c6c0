import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRaced, type JournalKind } from './journal-kinds.ts';
import { type KillPlan, planKill } from './kill-plan.ts';
import type { Settings } from './settings.ts';

interface Run {
  seed: number;
  kind: JournalKind;
  keys: number;
  kills: number;
  signal?: AbortSignal | undefined;
}

interface RunningWorker {
  readonly process: ChildProcess;
  readonly killPlan: KillPlan;
  /** How often it reached its kill point at the service. */
  reached: number;
  /** Whether it missed the deadline for its kill point. */
  isOverdue: boolean;
}

/** How long a worker is paused, in leases: long enough for a reviewer to wait, and to resolve its key. */
const PAUSE_LEASES = 6;

const program = fileURLToPath(new URL('worker.ts', import.meta.url));

/** Starts the worker processes, kills them by their plans, and counts. */
export class WorkerPool {
  readonly #run: Run;
  readonly #folder: string;
  readonly #workers = new Map<number, RunningWorker>();
  readonly #killsAt = new Map<string, number>();
  #started = 0;
  #paused = 0;
  #ended = 0;

  constructor(run: Run, folder: string) {
    this.#run = run;
    this.#folder = folder;
  }

  get counts() {
    const kills = [...this.#killsAt.values()].reduce((sum, count) => sum + count, 0);
    const aimed = kills - (this.#killsAt.get('any time') ?? 0);
    const restarts = this.#started - this.#ended;
    return { kills, aimed, killsAt: this.#killsAt, paused: this.#paused, restarts };
  }

  /** Runs one process until it ends. */
  async runWorker(settings: Omit<Settings, 'generation' | 'killPlan'>): Promise<'done' | 'killed'> {
    const { seed, kind, keys, kills, signal } = this.#run;
    const generation = this.#started++;
    const callsPerKill = (keys * (isRaced(kind) ? 2 : 1)) / Math.max(1, kills);
    const isEnough = this.counts.kills >= kills;
    const killPlan: KillPlan = isEnough ? { kind: 'none' } : planKill(seed, kind, generation, callsPerKill);
    const child = fork(program, [JSON.stringify({ ...settings, generation, killPlan } satisfies Settings)], {
      execArgv: [],
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled') },
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
  onRequest(point: 'accepted' | 'response sent', generation: number): void {
    const worker = this.#workers.get(generation);
    if (worker?.killPlan.kind !== 'at' || worker.killPlan.point !== point) return;
    if (++worker.reached === worker.killPlan.nth) worker.process.kill('SIGKILL');
  }

  killAll(): void {
    for (const { process } of this.#workers.values()) process.kill('SIGKILL');
  }
}
