import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type KillPlan, type KillPoint, planKill, type Settings } from './plan.ts';

interface Running {
  readonly process: ChildProcess;
  readonly killPlan: KillPlan;
  /** How often it reached its kill point at the service. */
  reached: number;
  /** Whether its life ended before it reached its kill point. */
  isOverdue: boolean;
}

/** Starts the processes of a shop, kills them by their plans, and counts. */
export class Processes {
  readonly #settings: Omit<Settings, 'slot' | 'generation' | 'isSettling' | 'killPlan'>;
  readonly #running = new Map<number, Running>();
  readonly killsAt = new Map<string, number>();
  killed = 0;
  /** Whether the processes that are started now are killed. */
  isKilling = true;
  #started = 0;

  constructor(settings: Omit<Settings, 'slot' | 'generation' | 'isSettling' | 'killPlan'>) {
    this.#settings = settings;
  }

  /** The generations of the processes that are running. */
  get running(): readonly number[] {
    return [...this.#running.keys()];
  }

  /** Runs one process until it ends. */
  async run(slot: number, isSettling: boolean): Promise<void> {
    const { seed, folder } = this.#settings;
    const generation = this.#started++;
    const killPlan: KillPlan = this.isKilling ? planKill(seed, generation) : { kind: 'none' };
    const settings: Settings = { ...this.#settings, slot, generation, isSettling, killPlan };
    const { NODE_COMPILE_CACHE = join(folder, 'compiled') } = process.env;
    const child = fork(fileURLToPath(new URL('shop.ts', import.meta.url)), [JSON.stringify(settings)], {
      execArgv: [],
      env: { ...process.env, NODE_COMPILE_CACHE },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const running: Running = { process: child, killPlan, reached: 0, isOverdue: false };
    this.#running.set(generation, running);
    child.on('message', (message) => {
      if (message === 'overdue') running.isOverdue = true;
      if (message !== 'ready' || killPlan.kind !== 'after') return;
      const timer = setTimeout(() => child.kill('SIGKILL'), killPlan.delay);
      child.once('exit', () => clearTimeout(timer));
    });
    let stderr = '';
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const [code, signal] = await once(child, 'close');
    this.#running.delete(generation);
    if (code === 0) return;
    if (signal !== 'SIGKILL') throw new Error(`A process failed by itself (${code ?? signal}): ${stderr}`);
    const point = killPlan.kind === 'at' && !running.isOverdue ? killPlan.point : 'any time';
    this.killsAt.set(point, (this.killsAt.get(point) ?? 0) + 1);
    this.killed++;
  }

  /** The service has a request. Kills the process that sent it, if its plan names this point. */
  onRequest(point: KillPoint, generation: number): void {
    const running = this.#running.get(generation);
    if (running?.killPlan.kind !== 'at' || running.killPlan.point !== point) return;
    if (++running.reached === running.killPlan.nth) running.process.kill('SIGKILL');
  }

  /** Sends a command to every process. One that is killed right now does not get it. */
  send(command: 'settle' | 'stop'): void {
    for (const { process } of this.#running.values()) if (process.connected) process.send(command, () => {});
  }

  killAll(): void {
    for (const { process } of this.#running.values()) process.kill('SIGKILL');
  }
}
