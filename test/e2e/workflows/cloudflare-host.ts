import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** What the program of the tests gets as its argument, as JSON. */
export const settingsSchema = z.object({
  /** Miniflare's files. */
  folder: z.string(),
  /** The bundled worker. */
  script: z.string(),
  /** Variables and secrets, besides those of wrangler.jsonc. */
  vars: z.record(z.string(), z.string()),
});

/** A message to the program. */
export const commandSchema = z.object({
  number: z.number(),
  command: z.enum(['query', 'cron']),
  argument: z.string(),
});

/** A message of the program: once that it serves, then one for each command. */
const replySchema = z.union([
  z.object({ url: z.string() }),
  z.object({ number: z.number(), result: z.unknown() }),
  z.object({ number: z.number(), error: z.string() }),
]);

type HostSettings = z.infer<typeof settingsSchema>;
type HostCommand = z.infer<typeof commandSchema>['command'];

/** Miniflare in a process of its own, which a test can kill together with its workerd. */
export class CloudflareHost {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #replies = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #commands = 0;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
    child.on('message', (message) => {
      const reply = replySchema.parse(message);
      if (!('number' in reply)) return;
      const waiting = this.#replies.get(reply.number);
      this.#replies.delete(reply.number);
      if ('error' in reply) waiting?.reject(new Error(reply.error));
      else waiting?.resolve(reply.result);
    });
    child.once('exit', () => {
      for (const { reject } of this.#replies.values()) reject(new Error('Miniflare has ended.'));
    });
  }

  static async start(settings: HostSettings): Promise<CloudflareHost> {
    const program = fileURLToPath(import.meta.resolve('./programs/cloudflare-host.ts'));
    const child = fork(program, [JSON.stringify(settings)], {
      // workerd is in the same process group, so that one signal kills both.
      detached: true,
      // Miniflare's own temporary files are deleted with the test's folder.
      env: { ...process.env, TMPDIR: settings.folder },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const exited = once(child, 'exit').then(([code]) => {
      throw new Error(`Miniflare exited with ${code} before it was ready.`);
    });
    const [ready] = await Promise.race([once(child, 'message'), exited]);
    exited.catch(() => {});
    const message = replySchema.parse(ready);
    if (!('url' in message)) throw new Error('Miniflare did not say where it listens.');
    return new CloudflareHost(child, message.url);
  }

  run(command: HostCommand, argument = ''): Promise<unknown> {
    this.#commands++;
    const number = this.#commands;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#replies.set(number, { resolve, reject });
    this.#child.send({ number, command, argument });
    return promise;
  }

  /** Kills Miniflare and workerd at the same instant: none of their code runs any more. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    process.kill(-pid, 'SIGKILL');
    await gone;
  }
}
