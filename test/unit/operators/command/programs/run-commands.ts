// Run by the tests of the command: runs several commands, each in its folder, in one process, and prints how each ended.
// Its argument is a list of `[folder, ...args]`, as JSON.
import { PassThrough, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { runJournalCommand } from '../../../../../src/operators/command/run.ts';

const output = (stream: PassThrough): Writable & { isTTY: boolean } =>
  Object.assign(stream, { isTTY: false });

async function run(folder: string, args: readonly string[]) {
  process.chdir(folder);
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end();
  const [out, err] = [text(stdout), text(stderr)];
  const { signal: stopped } = new AbortController();
  const streams = { stdin, stdout: output(stdout), stderr: output(stderr) };
  const terminal = { ...streams, env: process.env, folder, stopped };
  const code = await runJournalCommand(args, terminal);
  stdout.end();
  stderr.end();
  return { code, out: await out, err: await err };
}

const commands = z.array(z.tuple([z.string()], z.string())).parse(JSON.parse(process.argv[2] ?? ''));
const ends: unknown[] = [];
for (const [folder, ...args] of commands) ends.push(await run(folder, args));
process.stdout.write(JSON.stringify(ends), () => process.exit(0));
