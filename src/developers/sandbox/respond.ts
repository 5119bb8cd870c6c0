import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { ActivityLog } from './activity-log.ts';
import type { LiveView } from './pages/live-list.ts';

export type Env = { Bindings: HttpBindings };

/** At most one update of a page in this time, in milliseconds. */
const UPDATE_INTERVAL = 100;
/** Rendering a page takes at most one part in this many of the time. */
const MAX_UPDATE_SHARE = 10;

/** Keeps one page up to date through server-sent events: first the whole view, then with each change. */
export function streamUpdates(c: Context, activity: ActivityLog, render: LiveView): Response {
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => activity.notifyChange());
    let event: 'all' | 'some' = 'all';
    while (!stream.aborted) {
      const startedAt = performance.now();
      const sentVersion = activity.version;
      const data = String(await render());
      const duration = performance.now() - startedAt;
      await stream.writeSSE({ event, data });
      event = 'some';
      if (sentVersion === activity.version) await activity.nextChange();
      await stream.sleep(Math.max(UPDATE_INTERVAL, duration * MAX_UPDATE_SHARE));
    }
  });
}

/** Parses the fields of a form. A body that cannot be parsed, such as multipart without a boundary, has none. */
export async function parseForm(c: Context<Env>): Promise<Record<string, string | File>> {
  try {
    return await c.req.parseBody();
  } catch {
    return {};
  }
}
