#!/usr/bin/env node
import { runProbeCommand } from './command.ts';

const stopped = new AbortController();
// The second one ends the process at once.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopped.abort());

const { stdin, stdout, stderr, env, argv } = process;
const terminal = { stdin, stdout, stderr, env, folder: process.cwd() };
// A question that waits for its answer would keep the process alive.
process.exit(await runProbeCommand(argv.slice(2), terminal, stopped.signal));
