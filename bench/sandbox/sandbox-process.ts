import { startSandbox } from '../../src/developers/sandbox/index.ts';

/** Runs the sandbox in its own process, and reports its CPU time and memory on each message. */
const [state] = process.argv.slice(2);
const { baseUrl, liveKey } = await startSandbox({ state });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system, memory: process.memoryUsage().rss });
});
process.on('disconnect', () => process.exit());
process.send?.({ baseUrl, liveKey });
