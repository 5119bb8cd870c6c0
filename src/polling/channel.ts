export interface Channel<Value> {
  /** Whether the reader waits for a value and none is queued. */
  readonly isIdle: boolean;
  /** Whether values still reach the reader. */
  readonly isOpen: boolean;
  push(value: Value): void;
  end(): void;
  fail(error: unknown): void;
  /** Ends the reading with an error, and drops the queued values. */
  abort(error: unknown): void;
}

export interface Producer {
  onIdle?(): void;
  /** Stops all work at once. Called when the channel ends or the reader leaves, and again before `close`. */
  stop(): void;
  /** Releases what the producer holds. Called last. */
  close?(): void;
}

/**
 * Returns an async generator that yields what a producer pushes. `start` is called at the first read.
 *
 * `return` and `throw` stop the producer at once. Those of a plain generator wait for the value that is being read, which
 * might never come.
 */
export function createChannel<Value extends object>(
  start: (channel: Channel<Value>) => Producer,
): AsyncGenerator<Value, void, void> {
  const queue: Value[] = [];
  let producer: Producer | undefined;
  let finish: (() => void) | undefined;
  let wake: (() => void) | undefined;

  const wakeReader = () => {
    wake?.();
    wake = undefined;
  };
  const endWith = (how: () => void) => {
    finish ??= how;
    producer?.stop();
    wakeReader();
  };
  const fail = (error: unknown) =>
    endWith(() => {
      throw error;
    });
  const channel: Channel<Value> = {
    get isIdle() {
      return wake !== undefined;
    },
    get isOpen() {
      return finish === undefined;
    },
    push(value) {
      if (finish) return;
      queue.push(value);
      wakeReader();
    },
    end: () => endWith(() => {}),
    fail,
    abort(error) {
      queue.length = 0;
      fail(error);
    },
  };

  async function* read(): AsyncGenerator<Value, void, void> {
    producer = start(channel);
    try {
      for (;;) {
        for (let value = queue.shift(); value; value = queue.shift()) yield value;
        if (finish) return finish();
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        producer.onIdle?.();
        await woken;
      }
    } finally {
      producer.stop();
      producer.close?.();
    }
  }

  const values = read();
  const returnPlain = values.return.bind(values);
  const throwPlain = values.throw.bind(values);
  values.return = (value) => {
    channel.end();
    return returnPlain(value);
  };
  values.throw = (error) => {
    channel.end();
    return throwPlain(error);
  };
  return values;
}
