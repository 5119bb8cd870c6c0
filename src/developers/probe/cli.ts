#!/usr/bin/env node
import { runProbeCommand } from './command.ts';

const { stdin, stdout, stderr, env, argv } = process;
const stopping = new AbortController();
// The second one ends the process at once.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
// A reader that has seen enough, such as head, closes the pipe.
for (const stream of [stdout, stderr]) stream.on('error', () => {});

const terminal = { stdin, stdout, stderr, env, folder: process.cwd(), stopped: stopping.signal };
// A question that waits for its answer would keep the process alive.
process.exit(await runProbeCommand(argv.slice(2), terminal));
