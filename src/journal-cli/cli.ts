#!/usr/bin/env node
import { format } from 'node:util';
import { describeForeignError } from './describe-error.ts';
import { escapeUnprintable } from './printable-text.ts';
import { createOutputRedaction } from './redact-output.ts';
import { runJournalCommand } from './run.ts';

const { stdin, stdout, stderr, env, argv } = process;
const folder = process.cwd();
const args = argv.slice(2);
const redact = createOutputRedaction(env, folder, args);

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

/** With `logger: console` the client logs each request that succeeds. The operator did not ask for that. */
function noteUnlessOrdinary(...values: unknown[]): void {
  const [first] = values;
  if (typeof first !== 'string' || !first.startsWith('payments: ')) noteConsole(...values);
}
for (const method of ['debug', 'info'] as const) console[method] = noteUnlessOrdinary;

// Node prints its warnings by a listener. Those about SQLite and TypeScript would be in each mail of a cron job.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  const { code }: Error & { code?: string } = warning;
  if (warning.name !== 'ExperimentalWarning' && code !== 'MODULE_TYPELESS_PACKAGE_JSON')
    noteOnce(`${warning.name}: ${warning.message}`);
});

// A connection of the config can fail in the background. What the command waits for then fails by itself.
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => noteOnce(describeForeignError(error, redact)));

const code = await runJournalCommand(args, { stdin, stdout, stderr, env, folder });
// An open connection would keep the process alive.
process.exit(code);
