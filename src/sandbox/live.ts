import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Activity } from './activity.ts';
import type { Html } from './pages/layout.ts';

/** What a page shows that moves, as markup: elements with an id, each of which takes the place of the one before. */
export interface LiveView {
  /** The whole of it. */
  all(): Html;
  /** What is different since a version of the activity. */
  since(version: number): Html;
}

/** A page is told of changes at most so often. */
const PAUSE = 100;

/** Keeps one page up to date: first with all, which mends what it missed, then with each change. */
export function liveEvents(c: Context, activity: Activity, part: LiveView): Response {
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => activity.wake());
    let seen = -1;
    while (!stream.aborted) {
      const event = seen < activity.lastRemovalVersion ? 'all' : 'some';
      const markup = event === 'all' ? part.all() : part.since(seen);
      seen = activity.version;
      await stream.writeSSE({ event, data: String(await markup) });
      if (seen === activity.version) await activity.nextChange();
      await stream.sleep(PAUSE);
    }
  });
}
