import type { PaymentsEvent } from '../../../src/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import type { Doom, Point } from './doom.ts';
import type { AroundCommit } from './journals.ts';

/** The end of this process, waiting at one point of its way. */
export class Fate {
  readonly #doom: Doom;
  #passed = 0;
  #noted = 0;

  constructor(doom: Doom) {
    this.#doom = doom;
  }

  /** Does not return where this is the moment. */
  past(point: Point): void {
    if (this.#isTime(point)) process.kill(process.pid, 'SIGKILL');
  }

  /** The end of one call is written down. A worker whose moment has not come by then has lived long enough. */
  async noted(): Promise<void> {
    this.past('noted');
    if (!('most' in this.#doom) || ++this.#noted < this.#doom.most) return;
    await new Promise((resolve) => process.send?.('overdue', resolve));
    process.kill(process.pid, 'SIGKILL');
  }

  readonly aroundCommit: AroundCommit = (commit) => {
    this.past('before commit');
    commit();
    this.past('after commit');
  };

  readonly onEvent = ({ type }: PaymentsEvent): void => {
    if (type === 'request') this.past('request leaving');
    if (type === 'response') this.past('answer read');
  };

  readonly fetch: typeof fetch = (input, init) => this.#after('request left', () => fetch(input, init));

  /** The same journal, with the points around each of its steps. */
  around(journal: Journal): Journal {
    return {
      ...journal,
      claim: async (key, attempt) => {
        this.past('before begin');
        const standing = await this.#after('during begin', () => journal.claim(key, attempt));
        if (standing.state === 'claimed') {
          await this.#heldUp();
          this.past('after begin');
        }
        return standing;
      },
      renew: async (claim) => {
        const renewed = await this.#after('during renewal', () => journal.renew(claim));
        this.past('after renewal');
        return renewed;
      },
      complete: async (claim, ending) => {
        this.past('before end');
        const ended = await this.#after('during end', () => journal.complete(claim, ending));
        this.past('after end');
        return ended;
      },
    };
  }

  /** Begins the work, and may die a few turns of the event loop later. */
  async #after<T>(point: Point, work: () => Promise<T>): Promise<T> {
    const isTime = this.#isTime(point);
    const working = work();
    if (!isTime || this.#doom.manner !== 'at') return working;
    working.catch(() => {});
    for (let turn = 0; turn < this.#doom.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.kill(process.pid, 'SIGKILL');
    return working;
  }

  #isTime(point: Point): boolean {
    const doom = this.#doom;
    return doom.manner === 'at' && doom.point === point && ++this.#passed === doom.nth;
  }

  /** Stands still, with the claim written and nothing sent, until the harness lets it go on. */
  async #heldUp(): Promise<void> {
    if (this.#doom.manner !== 'held up' || ++this.#passed !== this.#doom.nth) return;
    await new Promise((resolve) => process.send?.('held up', resolve));
    process.kill(process.pid, 'SIGSTOP');
  }
}
