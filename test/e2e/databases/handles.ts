import type { RunningDatabase } from './database.ts';
import { startWorker } from './miniflare.ts';

/** Starts the Worker that runs statements for other processes. */
export async function startHandles(): Promise<RunningDatabase> {
  const worker = await startWorker(new URL('workers/handles.ts', import.meta.url), {
    hasSpare: true,
    objects: { OBJECTS: { className: 'Shop', useSQLite: true } },
  });
  return {
    place: worker.url,
    takeAway: () => worker.kill(),
    bringBack: () => worker.start(),
    stop: () => worker.stop(),
  };
}
