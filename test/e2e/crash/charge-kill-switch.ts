import type { PaymentsEvent } from '../../../src/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import type { KillPlan, KillPoint } from './kill-plan.ts';
import { KillSwitch, killOverdue } from './kill-switch.ts';
import { replaceStore, watchStore } from './watched-store.ts';

/** The kill points of a worker that charges. */
export class ChargeKillSwitch extends KillSwitch<KillPoint> {
  readonly #plan: KillPlan;
  #claims = 0;
  #calls = 0;

  constructor(plan: KillPlan) {
    super(plan);
    this.#plan = plan;
  }

  /** Call it once the result of a call is logged. A worker that has not reached its point by then is killed. */
  async countCall(): Promise<void> {
    this.reach('call logged');
    if ('maxCalls' in this.#plan && ++this.#calls >= this.#plan.maxCalls) await killOverdue();
  }

  readonly onEvent = ({ type }: PaymentsEvent): void => {
    if (type === 'request') this.reach('before request');
    if (type === 'response') this.reach('response read');
  };

  readonly fetch: typeof fetch = (input, init) => this.during('request sent', () => fetch(input, init));

  /** Returns the journal with the kill points around each of its writes. */
  wrap(journal: Journal): Journal {
    return replaceStore(journal, (store) =>
      watchStore(store, {
        killSwitch: this,
        onWritten: ({ step }, isWritten) => (step === 'claim' && isWritten ? this.#pause() : undefined),
      }),
    );
  }

  /** Stops the process, with the claim written and nothing sent, until the harness continues it. */
  async #pause(): Promise<void> {
    if (this.#plan.kind !== 'paused' || ++this.#claims !== this.#plan.nth) return;
    await new Promise((resolve) => process.send?.('paused', resolve));
    process.kill(process.pid, 'SIGSTOP');
  }
}
