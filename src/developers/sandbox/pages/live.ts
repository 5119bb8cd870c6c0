/** Keeps open pages up to date without a reload. ../assets/live.js is the part of it that runs in the browser. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { streamSSE } from 'hono/streaming';
import type { Html } from '../../../ui/markup.ts';
import type { Env } from '../request.ts';
import { layout } from './layout.ts';

/** A signal for each change of what a page could show. */
export class Changes {
  #next = Promise.withResolvers<void>();

  next(): Promise<void> {
    return this.#next.promise;
  }

  notify(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}

/** A page that one browser has opened. */
export interface LivePage {
  readonly title: string;
  /** The query by which its updates show the same as the page: empty, or with the question mark. */
  readonly query: string;
  /**
   * Renders the body below the title as it is now. An element with the attribute `data-live` and an id is updated on an open
   * page; of a list, each item by its own id.
   */
  render(): Html;
}

/** Names a page in its class, and in the path of its updates. */
type PageName = 'dashboard' | 'webhooks' | 'phone';

/** Adds a page, and the server-sent events that update it. */
export function addLivePage(
  app: Hono<Env>,
  changes: Changes,
  path: string,
  name: PageName,
  open: (query: Readonly<Record<string, string>>) => LivePage,
): void {
  app.get(path, (c) => c.html(renderLivePage(name, open(c.req.query()))));
  app.get(`/events/${name}`, (c) => streamUpdates(c, changes, open(c.req.query())));
}

export function renderLivePage(name: PageName, { title, query, render }: LivePage): Html {
  const body = html`<h1 class="hidden">${title}</h1>
${render()}`;
  return layout({ title, name, events: `/events/${name}${query}`, body });
}

/** At most one update of a page in this time, in milliseconds. */
const UPDATE_INTERVAL = 100;
/** Rendering a page takes at most one part in this many of the time. */
const MAX_UPDATE_SHARE = 10;

/** Sends the body of a page, and sends it again after each change of it. */
function streamUpdates(c: Context, changes: Changes, { render }: LivePage): Response {
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => changes.notify());
    let sent = '';
    while (!stream.aborted) {
      const change = changes.next();
      const startedAt = performance.now();
      const data = String(await render());
      const duration = performance.now() - startedAt;
      if (data !== sent) await stream.writeSSE({ data });
      sent = data;
      await change;
      await stream.sleep(Math.max(UPDATE_INTERVAL, duration * MAX_UPDATE_SHARE));
    }
  });
}
