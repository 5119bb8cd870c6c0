import { onTestFinished, vi } from 'vitest';
import { limitPatience } from './patience.ts';

/** The turns of the event loop in which all that needs no timer is done. */
const TURNS = 12;

/**
 * A clock on which time passes by itself: once a test waits and nothing happens without a timer, the next timer fires. So a wait of
 * eight days takes no time, and a busy machine changes nothing. It is for work in memory: what needs a thread or a socket takes
 * any amount of this time.
 */
export interface Clock {
  /** Milliseconds since it was started. */
  readonly now: number;
  /** Waits for so many milliseconds. */
  pass(milliseconds: number): Promise<void>;
  /** Waits until a condition holds. */
  until(holds: () => boolean): Promise<void>;
  /** Does what needs no timer, while time stands still. */
  settle(): Promise<void>;
  /** Sets `Date` ahead: no timer fires, as in a process that was frozen. */
  jump(milliseconds: number): void;
}

interface RunningClock extends Clock {
  /** Is run on the clock when the test has ended. */
  readonly ends: (() => Promise<unknown>)[];
}

let running: RunningClock | undefined;

/** Starts the clock of a test, without jitter, until the test ends. A test has one. */
export function startClock(): RunningClock {
  running ??= createClock();
  return running;
}

function createClock(): RunningClock {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  const jitter = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const startedAt = performance.now();
  const ends: RunningClock['ends'] = [];
  let isRunning = true;
  let held = 0;
  const drive = async () => {
    while (isRunning) {
      await turns(TURNS);
      if (isRunning && held === 0) vi.advanceTimersToNextTimer();
    }
  };
  const driven = drive();
  onTestFinished(async () => {
    await Promise.all(ends.map((end) => end()));
    isRunning = false;
    await driven;
    running = undefined;
    jitter.mockRestore();
    vi.useRealTimers();
  });
  return {
    ends,
    get now() {
      return performance.now() - startedAt;
    },
    async pass(milliseconds) {
      await sleep(milliseconds);
      // What is due now has been done, too.
      await sleep(0);
    },
    async until(holds) {
      const assertPatience = limitPatience(holds);
      while (!holds()) {
        assertPatience();
        await turns(1);
      }
    },
    async settle() {
      held++;
      await turns(50);
      held--;
    },
    jump: (milliseconds) => void vi.setSystemTime(Date.now() + milliseconds),
  };
}

export const sleep = (milliseconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, milliseconds));

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
