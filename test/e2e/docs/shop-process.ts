import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { root } from './pages.ts';

/** A process of a reader: what it has printed, and its end. */
interface ShopProcess {
  readonly child: ChildProcess;
  readonly output: { text: string };
  readonly ended: Promise<unknown[]>;
}

/** Starts a process until the test ends, and collects what it prints. */
export function start(
  command: string,
  args: string[],
  cwd = root,
  more: NodeJS.ProcessEnv = {},
): ShopProcess {
  // Without these variables, as in a new terminal.
  const { PAYMENTS_BASE_URL: _, PAYMENTS_API_KEY: __, ...env } = process.env;
  const child: ChildProcess = spawn(command, args, {
    cwd,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: npx starts further processes.
    detached: true,
  });
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, 'SIGKILL');
  });
  const ended = once(child, 'close');
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.text += text;
    });
  }
  return { child, output, ended };
}

/** Waits until a text contains a pattern, and returns its first group. */
export async function find(readText: () => string | Promise<string>, pattern: RegExp): Promise<string> {
  const found = await vi.waitUntil(async () => pattern.exec(await readText()));
  return found[1] ?? '';
}

/** Starts the built command `payment-sandbox`, and finds the addresses and the line that it prints. */
export async function startSandboxCommand(...args: string[]) {
  const command = packageJson.bin['payment-sandbox'];
  const { child, output, ended } = start(process.execPath, [command, '--port', '0', ...args]);
  const readOutput = () => output.text;
  const line = await find(readOutput, /^ *(export PAYMENTS_BASE_URL=\S+ PAYMENTS_API_KEY=\S+)$/m);
  const phone = await find(readOutput, /phone +(\S+)/);
  const readPhone = async () => (await fetch(phone)).text();
  return {
    line,
    url: new URL(phone).origin,
    /** Waits for the prompt of a charge, and returns its reference. */
    findPrompt: () => find(readPhone, /name="reference" value="(TXN-\w+)"/),
    /** Types the PIN at the prompt of a charge. */
    async approve(reference: string): Promise<void> {
      await fetch(phone, {
        method: 'POST',
        body: new URLSearchParams({ reference, pin: '1234', decision: 'approve' }),
        headers: { origin: new URL(phone).origin },
      });
    },
    /** Orders a fault: the next customer is charged, and the shop gets no response. */
    async loseResponse(): Promise<void> {
      const { status } = await fetch(`${new URL(phone).origin}/sandbox/faults`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ operation: 'chargeMobileMoney', fault: { kind: 'responseLost' } }),
      });
      if (status !== 201) throw new Error(`The sandbox responded ${status}.`);
    },
    /** Whether the phone shows a prompt. */
    hasPrompt: async () => /name="reference"/.test(await readPhone()),
    /** Ends it, as Ctrl-C does. */
    async stop(): Promise<void> {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
