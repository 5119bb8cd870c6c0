import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

export const planSchema = z.object({ key: z.string(), timeout: z.number(), lease: z.number() });

/** One charge, and its limits in milliseconds. */
export type Plan = z.infer<typeof planSchema>;

export type TransportName = 'fetch' | 'undiciTransport';

/** Starts a process that charges over a transport, with the journal and the certificate of a folder. */
export async function startShop(transport: TransportName, baseUrl: string, folder: string) {
  const notes = `${folder}/notes`;
  writeFileSync(notes, '');
  const child = fork(
    fileURLToPath(new URL('charges.ts', import.meta.url)),
    [baseUrl, transport, `${folder}/journal.db`, notes],
    { execArgv: [], env: { ...process.env, NODE_EXTRA_CA_CERTS: `${folder}/ca.pem` } },
  );
  const exited = once(child, 'exit');
  const nextMessage = async () => {
    const [message] = await Promise.race([once(child, 'message'), exited.then(() => [undefined])]);
    if (typeof message !== 'string') throw new Error('The process of the shop has ended.');
    return message;
  };
  await nextMessage();
  return {
    /** Returns `made`, or the code of the error. */
    charge(plan: Plan): Promise<string> {
      const end = nextMessage();
      child.send(plan);
      return end;
    },
    /** Stops the process. Returns what it has noted of a charge until then. */
    async freeze(key: string): Promise<ReadonlySet<string | undefined>> {
      child.kill('SIGSTOP');
      const state = () => execFileSync('ps', ['-o', 'stat=', '-p', String(child.pid)], { encoding: 'utf8' });
      while (!state().startsWith('T')) await nextTurn();
      const lines = readFileSync(notes, 'utf8').split('\n');
      return new Set(lines.map((line) => line.split(' ')).flatMap(([of, step]) => (of === key ? step : [])));
    },
    thaw: () => void child.kill('SIGCONT'),
    async leave() {
      child.disconnect();
      await exited;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
