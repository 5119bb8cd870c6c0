import { startSandbox } from '../../src/sandbox/index.ts';

/** The sandbox in a process of its own, which tells on demand what CPU it has used and what memory it holds. */
const [state] = process.argv.slice(2);
const { baseUrl, liveKey } = await startSandbox({ state });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system, memory: process.memoryUsage().rss });
});
process.on('disconnect', () => process.exit());
process.send?.({ baseUrl, liveKey });
