import { readValue, serveParent } from './child.ts';
import { WAYS, type WayAddress } from './ways.ts';

/** One process that follows payments. */
const address: WayAddress = readValue();
const follow = await WAYS[address.way](address);
const stop = new AbortController();
let ended: Promise<unknown> | undefined;

serveParent({
  start() {
    ended = follow(stop.signal);
    // The parent is told when it stops this process.
    ended.catch(() => {});
  },
  readCpu() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  async stop() {
    stop.abort();
    await ended;
  },
});
