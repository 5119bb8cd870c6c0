import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  type Action,
  type Called,
  type ChargeInput,
  messageSchema,
  type ShopSettings,
  type Status,
  statusSchema,
} from './messages.ts';

const program = fileURLToPath(new URL('../programs/break-shop.ts', import.meta.url));

/** The error of an action in the other process. */
export class ActionError extends Error {}

/** A process of a shop that does what a test tells it. */
export class ShopProcess {
  /** The calls of its handlers, oldest first. */
  readonly called: Called[] = [];
  readonly #child: ChildProcess;
  readonly #actions = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #ready = Promise.withResolvers<void>();
  #count = 0;

  /** Starts a process. It is there once this has resolved. */
  static async start(settings: ShopSettings): Promise<ShopProcess> {
    const started = new ShopProcess(settings);
    await started.#ready.promise;
    return started;
  }

  private constructor(settings: ShopSettings) {
    this.#child = spawn(process.execPath, [program, JSON.stringify(settings)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (message) => this.#take(message));
    this.#child.once('exit', () => {
      const error = new Error('The process of the shop has ended.');
      this.#ready.reject(error);
      for (const { reject } of this.#actions.values()) reject(error);
    });
  }

  charge(order: string, input: Omit<ChargeInput, 'order'> = {}): Promise<Status> {
    return this.#ask({ do: 'charge', order, ...input });
  }

  checkout(order: string): Promise<Status> {
    return this.#ask({ do: 'checkout', order });
  }

  read(order: string): Promise<Status> {
    return this.#ask({ do: 'read', order });
  }

  wait(order: string): Promise<Status> {
    return this.#ask({ do: 'wait', order });
  }

  /** Does what returns no status. */
  run(action: Action): Promise<unknown> {
    const id = ++this.#count;
    const acting = Promise.withResolvers<unknown>();
    this.#actions.set(id, acting);
    this.#child.send({ id, action });
    return acting.promise;
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  async #ask(action: Action): Promise<Status> {
    return statusSchema.parse(await this.run(action));
  }

  #take(received: unknown): void {
    const message = messageSchema.parse(received);
    if (message === 'ready') {
      this.#ready.resolve();
      return;
    }
    if ('called' in message) {
      this.called.push(message);
      return;
    }
    const acting = this.#actions.get(message.id);
    this.#actions.delete(message.id);
    if ('error' in message) acting?.reject(new ActionError(JSON.stringify(message.error)));
    else acting?.resolve(message.result);
  }
}
