// Waits for a message, then runs Miniflare until its parent ends or kills it. Started by miniflare.ts.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Miniflare } from 'miniflare';
import type { MiniflareSettings } from './miniflare.ts';

process.on('disconnect', () => process.exit());
process.send?.('loaded');
await once(process, 'message');

const { script, folder, port, bindings, objects }: MiniflareSettings = JSON.parse(process.argv[2] ?? '');
const miniflare = new Miniflare({
  modules: true,
  scriptPath: script,
  compatibilityDate: '2026-01-01',
  host: '127.0.0.1',
  port,
  // Both would be fetched, or sent, over the internet.
  cf: false,
  telemetry: { enabled: false },
  // workerd reports each process that was killed while it sent a request.
  handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
    stdout.resume();
    stderr.resume();
  },
  // Runs `scheduled` when it is asked to, by a path.
  unsafeTriggerHandlers: true,
  bindings,
  d1Databases: { DB: 'payments' },
  d1Persist: `${folder}/d1`,
  durableObjects: objects,
  durableObjectsPersist: `${folder}/objects`,
});
await miniflare.ready;
process.send?.('ready');
