// A merchant's process that follows payments up, started by harness.ts. It sweeps until it is told to stop, or is killed.
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFollowUps, type FollowUpsOptions } from '../../../../src/follow-ups/index.ts';
import { PaymentsClient } from '../../../../src/index.ts';
import { API_KEY } from '../api-key.ts';
import { openJournal } from '../journals.ts';
import { KillSwitch, killOverdue, watchCommits } from '../kill-switch.ts';
import { seededRandom } from '../seeded-random.ts';
import { sweeperSettingsSchema } from './settings.ts';
import { openSweepLog } from './sweep-log.ts';
import { watchFollowUps } from './watched-journal.ts';

const settings = sweeperSettingsSchema.parse(JSON.parse(process.argv[2] ?? ''));
const { seed, kind, slot, generation, folder, lease, killPlan, control } = settings;
process.on('disconnect', () => process.exit(1));

const stop = new AbortController();
const log = openSweepLog(folder, generation);
const killSwitch = new KillSwitch(killPlan);
const opened = await openJournal(kind, settings.place, {
  lease,
  other: slot % 2 === 1,
  aroundCommit: watchCommits(killSwitch),
});
const journal = watchFollowUps(opened.journal, { killSwitch, log, control });
const payments = new PaymentsClient({
  apiKey: API_KEY,
  baseUrl: settings.baseUrl,
  timeout: settings.timeout,
  journal,
  polling: { ...settings.polling, maxConcurrency: 24, maxRequestsPerSecond: 400 },
  headers: { 'x-generation': String(generation) },
  fetch: (input, init) => killSwitch.during('request sent', () => fetch(input, init)),
  onEvent: (event) => {
    if (event.type === 'request') killSwitch.reach('before request');
    if (event.type === 'response') killSwitch.reach('response read');
    // What it leaves when it is told to stop, another one does.
    if (stop.signal.aborted) return;
    if (event.type === 'follow_up' && ['paused', 'failed', 'unreadable'].includes(event.result))
      log({ event: 'failed', message: `${event.result}: ${event.error}` });
  },
});
const followUps = createFollowUps({ payments, journal, ...createHandlers() });

// A process that is killed writes no compile cache, so it is written now for the next one.
flushCompileCache();
process.on('message', (message) => {
  if (message === 'stop') stop.abort();
  else if (typeof message === 'object' && message !== null && 'notify' in message)
    void followUps.notify(String(message.notify));
});
if (killPlan.kind === 'at') setTimeout(() => void killOverdue(), killPlan.latest).unref();
process.send?.('ready');

// As in a long-lived process, or as from cron.
if (slot % 2 === 0) await followUps.run({ signal: stop.signal });
else while (!stop.signal.aborted) await sweepOnce();
await payments.close();
await opened.close();
process.exit(0);

async function sweepOnce(): Promise<void> {
  try {
    await followUps.sweep({ budget: 12_000, signal: stop.signal });
  } catch (error) {
    if (!stop.signal.aborted) log({ event: 'failed', message: String(error) });
  }
  await sleep(200);
}

/** The merchant's handlers. Some throw once, and some take longer than a third of the lease: it is then renewed. */
function createHandlers(): Pick<FollowUpsOptions, 'onFinal' | 'onAttention'> {
  const thrown = new Set<string>();
  const work = async (handler: 'onFinal' | 'onAttention', key: string) => {
    const at = seededRandom(seed, handler, key, generation);
    await sleep(settings.hasBadHandlers && at > 0.98 ? 5_000 : at * 4);
    if (!settings.hasBadHandlers || at > 0.02 || thrown.has(handler + key)) return;
    thrown.add(handler + key);
    log({ event: 'threw', key, handler });
    throw new Error('The database of the shop is down.');
  };
  return {
    async onFinal({ key, reference, transaction }) {
      const { status, amount, currency } = transaction;
      killSwitch.reach('onFinal called');
      log({ event: 'onFinal', key, reference, status, amount, currency });
      killSwitch.reach('onFinal logged');
      await work('onFinal', key);
      killSwitch.reach('onFinal done');
    },
    async onAttention({ key, reference, reason }) {
      killSwitch.reach('onAttention called');
      log({ event: 'onAttention', key, reason, reference });
      killSwitch.reach('onAttention logged');
      await work('onAttention', key);
      killSwitch.reach('onAttention done');
    },
  };
}
