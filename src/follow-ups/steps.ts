/** How long what a check found waits for that of others before it is recorded, in milliseconds: they share one commit then. */
const GROUP_WAIT = 10;

export interface StepProgress {
  /** It sends no more requests: a handler might be called, and might take long. */
  onChecked(): void;
  /** Its handler has not settled for long: it holds back nothing any more. */
  onSlow(): void;
}

/** The steps of one sweep, one for each record, and those who wait for a change of them. */
export class Steps {
  /** Those of all sweeps that are slow. */
  readonly #slow: Set<Promise<void>>;
  readonly #ended: readonly AbortSignal[];
  #waiters: (() => void)[] = [];
  /** The steps that are about to record what they found, and when they do at the latest. */
  #group: (() => void)[] = [];
  #groupTimer: ReturnType<typeof setTimeout> | undefined;
  size = 0;
  /** How many of them are not slow. */
  quick = 0;
  /** How many of them might still send a request. */
  checking = 0;

  /** The signals in `ends` end every wait. */
  constructor(slow: Set<Promise<void>>, ends: readonly AbortSignal[]) {
    this.#slow = slow;
    this.#ended = ends;
    for (const end of ends)
      end.addEventListener(
        'abort',
        () => {
          this.#closeGroup();
          this.#onChange();
        },
        { once: true },
      );
  }

  /** Starts a step, which never rejects. */
  start(run: (progress: StepProgress) => Promise<void>): void {
    this.size += 1;
    this.quick += 1;
    this.checking += 1;
    let [isChecking, isQuick] = [true, true];
    const progress: StepProgress = {
      onChecked: () => {
        if (isChecking) this.checking -= 1;
        isChecking = false;
        this.#onChange();
      },
      onSlow: () => {
        if (isQuick) this.quick -= 1;
        isQuick = false;
        this.#slow.add(step);
        this.#onChange();
      },
    };
    const step = run(progress).finally(() => {
      this.size -= 1;
      if (isQuick) this.quick -= 1;
      this.#slow.delete(step);
      progress.onChecked();
    });
  }

  /** Resolves once `isSo` holds, which each change can bring about, or after `limit` milliseconds. */
  async waitUntil(isSo: () => boolean, limit?: number): Promise<void> {
    let isLate = false;
    const onLimit = () => {
      isLate = true;
      this.#onChange();
    };
    const timer = limit === undefined ? undefined : setTimeout(onLimit, limit);
    while (!(isSo() || isLate)) await new Promise<void>((resolve) => this.#waiters.push(resolve));
    clearTimeout(timer);
  }

  /** Resolves shortly, for all steps that wait at once; while no check is in flight, now. */
  joinGroup(): Promise<void> {
    return new Promise((resolve) => {
      this.#group.push(resolve);
      if (this.checking === 0 || this.#ended.some(({ aborted }) => aborted)) this.#closeGroup();
      else this.#groupTimer ??= setTimeout(() => this.#closeGroup(), GROUP_WAIT);
    });
  }

  #closeGroup(): void {
    clearTimeout(this.#groupTimer);
    this.#groupTimer = undefined;
    for (const resolve of this.#group.splice(0)) resolve();
  }

  #onChange(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
