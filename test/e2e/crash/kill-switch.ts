import type { PaymentsEvent } from '../../../src/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import type { AroundCommit } from './journals.ts';
import type { KillPlan, KillPoint } from './kill-plan.ts';

/** Kills this process at the point that its plan names. */
export class KillSwitch {
  readonly #plan: KillPlan;
  #reached = 0;
  #calls = 0;

  constructor(plan: KillPlan) {
    this.#plan = plan;
  }

  /** Does not return if the plan names this point. */
  reach(point: KillPoint): void {
    if (this.#isDue(point)) process.kill(process.pid, 'SIGKILL');
  }

  /** Call it once the result of a call is logged. A worker that has not reached its point by then is killed. */
  async countCall(): Promise<void> {
    this.reach('call logged');
    if (!('maxCalls' in this.#plan) || ++this.#calls < this.#plan.maxCalls) return;
    await new Promise((resolve) => process.send?.('overdue', resolve));
    process.kill(process.pid, 'SIGKILL');
  }

  readonly aroundCommit: AroundCommit = (commit) => {
    this.reach('before commit');
    commit();
    this.reach('after commit');
  };

  readonly onEvent = ({ type }: PaymentsEvent): void => {
    if (type === 'request') this.reach('before request');
    if (type === 'response') this.reach('response read');
  };

  readonly fetch: typeof fetch = (input, init) => this.#after('request sent', () => fetch(input, init));

  /** Returns the journal with the kill points around each of its steps. */
  wrap(journal: Journal): Journal {
    return {
      ...journal,
      claim: async (key, intent) => {
        this.reach('before claim');
        const claimed = await this.#after('during claim', () => journal.claim(key, intent));
        if (claimed.state === 'claimed') {
          await this.#pause();
          this.reach('after claim');
        }
        return claimed;
      },
      renew: async (claim) => {
        const renewed = await this.#after('during heartbeat', () => journal.renew(claim));
        this.reach('after heartbeat');
        return renewed;
      },
      complete: async (claim, completion) => {
        this.reach('before complete');
        const isRecorded = await this.#after('during complete', () => journal.complete(claim, completion));
        this.reach('after complete');
        return isRecorded;
      },
    };
  }

  /** Starts the work. If the plan names this point, it kills the process a few turns of the event loop later. */
  async #after<T>(point: KillPoint, work: () => Promise<T>): Promise<T> {
    const isDue = this.#isDue(point);
    const working = work();
    if (!isDue || this.#plan.kind !== 'at') return working;
    working.catch(() => {});
    for (let turn = 0; turn < this.#plan.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.kill(process.pid, 'SIGKILL');
    return working;
  }

  #isDue(point: KillPoint): boolean {
    const plan = this.#plan;
    return plan.kind === 'at' && plan.point === point && ++this.#reached === plan.nth;
  }

  /** Stops the process, with the claim written and nothing sent, until the harness continues it. */
  async #pause(): Promise<void> {
    if (this.#plan.kind !== 'paused' || ++this.#reached !== this.#plan.nth) return;
    await new Promise((resolve) => process.send?.('paused', resolve));
    process.kill(process.pid, 'SIGSTOP');
  }
}
