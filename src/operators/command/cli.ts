#!/usr/bin/env node
import { format } from 'node:util';
import { createOutputRedaction } from '../../ui/redact-output.ts';
import { escapeUnprintable } from '../../ui/text.ts';
import { describeCommand, describeForeignError } from './errors.ts';
import { runJournalCommand } from './run.ts';

const { stdin, stdout, stderr, env, argv } = process;
const folder = process.cwd();
const redact = createOutputRedaction(env, folder);

// A reader that has seen enough, such as head, closes the pipe. A write then reports that to its caller.
for (const stream of [stdout, stderr]) stream.on('error', () => {});

const noted = new Set<string>();

/** Prints a line of the config or its packages once. A client that connects again and again says so each time. */
function noteOnce(text: string): void {
  const line = escapeUnprintable(redact.foreign(text));
  if (line.trim() === '' || noted.has(line)) return;
  noted.add(line);
  stderr.write(`config: ${line}\n`);
}

/** What the config and its packages print is not the output of the command. */
function noteConsole(...values: unknown[]): void {
  for (const line of format(...values).split('\n')) if (!/^\s+at /.test(line)) noteOnce(line);
}
for (const method of ['log', 'warn', 'error'] as const) console[method] = noteConsole;

// With `logger: console` the client logs each request by these. The operator did not ask for that.
for (const method of ['debug', 'info'] as const) console[method] = () => {};

// Node prints its warnings by a listener. Those about SQLite and TypeScript would be in each mail of a cron job.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  const { code }: Error & { code?: string } = warning;
  if (warning.name !== 'ExperimentalWarning' && code !== 'MODULE_TYPELESS_PACKAGE_JSON')
    noteOnce(`${warning.name}: ${warning.message}`);
});

// Node would print a stack, in which a secret can be. A promise that nobody handles ends here too.
process.on('uncaughtException', (error: unknown) => {
  stderr.write(
    `payment-journal: ${describeForeignError(error, redact)}\n` +
      `Nothing handles this error, so the command ends. To see what was recorded, run ${describeCommand('show')} with the key.\n`,
  );
  process.exit(1);
});

// Only the desk runs until it is stopped. Any other command ends at once, as usual.
const stopping = new AbortController();
if (argv.includes('desk'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());

const stopped = stopping.signal;
const code = await runJournalCommand(argv.slice(2), { stdin, stdout, stderr, env, folder, stopped });
// An open connection would keep the process alive.
process.exit(code);
