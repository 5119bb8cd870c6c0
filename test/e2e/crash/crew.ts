import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Doom, doomOf } from './doom.ts';
import { type JournalKind, raced } from './kinds.ts';
import type { Settings } from './settings.ts';

interface Plan {
  seed: number;
  kind: JournalKind;
  keys: number;
  kills: number;
  signal?: AbortSignal | undefined;
}

interface Member {
  readonly process: ChildProcess;
  readonly doom: Doom;
  passed: number;
  /** The moment it was aimed at did not come. */
  overdue: boolean;
}

/** Leases: long enough for somebody to look, wait, and settle the key. */
const HELD_UP_FOR = 6;

const worker = fileURLToPath(new URL('worker.ts', import.meta.url));

/** The worker processes, and what has happened to them. */
export class Crew {
  readonly #plan: Plan;
  readonly #folder: string;
  readonly #members = new Map<number, Member>();
  readonly #killsAt = new Map<string, number>();
  #started = 0;
  #heldUp = 0;
  #ended = 0;

  constructor(plan: Plan, folder: string) {
    this.#plan = plan;
    this.#folder = folder;
  }

  get counts() {
    const kills = [...this.#killsAt.values()].reduce((sum, count) => sum + count, 0);
    const aimed = kills - (this.#killsAt.get('any moment') ?? 0);
    const restarts = this.#started - this.#ended;
    return { kills, aimed, killsAt: this.#killsAt, heldUp: this.#heldUp, restarts };
  }

  /** One process, from its start to its end. */
  async work(settings: Omit<Settings, 'generation' | 'doom'>): Promise<'done' | 'killed'> {
    const { seed, kind, keys, kills, signal } = this.#plan;
    const generation = this.#started++;
    const visits = (keys * (raced(kind) ? 2 : 1)) / Math.max(1, kills);
    const spared = this.counts.kills >= kills;
    const doom: Doom = spared ? { manner: 'spared' } : doomOf(seed, kind, generation, visits);
    const child = fork(worker, [JSON.stringify({ ...settings, generation, doom } satisfies Settings)], {
      execArgv: [],
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#folder, 'compiled') },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const member = { process: child, doom, passed: 0, overdue: false };
    this.#members.set(generation, member);
    this.#watchOver(member, settings.lease);
    let said = '';
    child.stderr?.on('data', (chunk) => {
      said += chunk;
    });
    const dismiss = () => child.kill('SIGKILL');
    signal?.addEventListener('abort', dismiss, { once: true });
    if (signal?.aborted) dismiss();

    const [code, ending] = await once(child, 'close');
    signal?.removeEventListener('abort', dismiss);
    this.#members.delete(generation);
    if (code === 0) {
      this.#ended++;
      return 'done';
    }
    if (ending !== 'SIGKILL') throw new Error(`a worker failed by itself (${code ?? ending}): ${said}`);
    const point = doom.manner === 'at' && !member.overdue ? doom.point : 'any moment';
    this.#killsAt.set(point, (this.#killsAt.get(point) ?? 0) + 1);
    return 'killed';
  }

  /** What the harness does to a worker from outside, and what that says of itself. */
  #watchOver(member: Member, lease: number): void {
    const { process: child, doom } = member;
    const later = (delay: number, act: () => void) => {
      const timer = setTimeout(act, delay);
      child.once('exit', () => clearTimeout(timer));
    };
    child.on('message', (message) => {
      if (message === 'held up') {
        this.#heldUp++;
        later(HELD_UP_FOR * lease, () => child.kill('SIGCONT'));
      }
      if (message === 'overdue') member.overdue = true;
      if (message === 'ready' && doom.manner === 'after') later(doom.delay, () => child.kill('SIGKILL'));
    });
  }

  /** The service tells of a request. Where that is the moment, its worker dies of it. */
  saw(moment: 'accepted' | 'answered', generation: number): void {
    const member = this.#members.get(generation);
    if (member?.doom.manner !== 'at' || member.doom.point !== moment) return;
    if (++member.passed === member.doom.nth) member.process.kill('SIGKILL');
  }

  dismiss(): void {
    for (const { process } of this.#members.values()) process.kill('SIGKILL');
  }
}
