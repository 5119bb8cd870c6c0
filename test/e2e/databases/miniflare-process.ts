// Waits for a message, then runs Miniflare until its parent ends or kills it. Started by miniflare.ts.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import type { MiniflareSettings } from './miniflare.ts';

process.on('disconnect', () => process.exit());
process.send?.('loaded');
await once(process, 'message');

const settings: MiniflareSettings = JSON.parse(process.argv[2] ?? '');
const { script, folder, port, bindings, objects, installedAt, compatibilityDate } = settings;
const { Miniflare }: typeof import('miniflare') = createRequire(installedAt)('miniflare');
const miniflare = new Miniflare({
  modules: true,
  scriptPath: script,
  compatibilityDate,
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
