import { PassThrough, Writable } from 'node:stream';
import { vi } from 'vitest';
import { runProbeCommand } from '../../../../src/developers/probe/command.ts';
import { FAST } from './run-probe.ts';

interface CommandOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly isTTY?: boolean;
  readonly signal?: AbortSignal;
  readonly timeout?: number;
  /** Gets what is printed for the person, and returns what is typed. */
  readonly onPrompt?: (prompt: string) => unknown;
}

/** Runs the command in this process. */
export async function runCommand(args: readonly string[], options: CommandOptions) {
  const {
    env,
    isTTY = false,
    signal = new AbortController().signal,
    timeout = FAST.timeout,
    onPrompt,
  } = options;
  vi.stubEnv('PAYMENTS_BASE_URL', undefined);
  vi.stubEnv('PAYMENTS_API_KEY', undefined);
  const printed = { out: '', err: '' };
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const answer = async (prompt: string) => {
    const typed = await onPrompt?.(prompt);
    if (typeof typed === 'string') stdin.write(`${typed}\n`);
  };
  const createOutput = (name: 'out' | 'err') =>
    Object.assign(
      new Writable({
        write: (chunk, _encoding, done) => {
          printed[name] += chunk;
          done();
          if (name === 'err') void answer(String(chunk));
        },
      }),
      { isTTY },
    );
  const terminal = {
    stdin,
    stdout: createOutput('out'),
    stderr: createOutput('err'),
    env,
    folder: '/shop',
    stopped: signal,
  };
  const code = await runProbeCommand(args, terminal, { ...FAST, timeout });
  vi.unstubAllEnvs();
  return { code, ...printed };
}
