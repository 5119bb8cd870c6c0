/** Keeps open pages up to date without a reload. ../assets/live.js is the part of it that runs in the browser. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { streamSSE } from 'hono/streaming';
import type { Html } from '../../../ui/markup.ts';
import type { Env } from '../request.ts';
import { layout } from './layout.ts';

/** A signal for each change of what a page could show. */
export class Changes {
  #version = 0;
  #next: PromiseWithResolvers<void> | undefined;

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  next(): Promise<void> {
    this.#next ??= Promise.withResolvers();
    return this.#next.promise;
  }

  notify(): void {
    this.#version++;
    this.#next?.resolve();
    this.#next = undefined;
  }
}

export interface LiveItem {
  readonly id: string;
  /** For the style sheet. */
  readonly className?: string;
  /** What comes below it stays in its place when its content gets shorter. */
  readonly keepsHeight?: boolean;
  readonly content: Html;
}

/** The elements beside a list, by a name. Each has an id. */
type AnyParts = Readonly<Record<string, Html>>;

/** What a page shows now: its list from the top down, and the elements beside it. */
interface LiveView<Parts> {
  readonly items: readonly LiveItem[];
  readonly parts: Parts;
}

/** A page that one browser has opened. */
export interface LivePage<Parts extends AnyParts> {
  readonly title: string;
  /** The query by which its updates show the same as the page: empty, or with the question mark. */
  readonly query: string;
  view(): LiveView<Parts>;
  /** Renders the body. The items go into the one element that has the attribute `data-live`. */
  render(items: readonly Html[], parts: Parts): Html;
}

/** Names a page in its class, and in the path of its updates. */
type PageName = 'dashboard' | 'webhooks' | 'phone';

/** Adds a page, and the server-sent events that update it. */
export function addLivePage<Parts extends AnyParts>(
  app: Hono<Env>,
  changes: Changes,
  path: string,
  name: PageName,
  open: (query: Readonly<Record<string, string>>) => LivePage<Parts>,
): void {
  app.get(path, (c) => c.html(renderLivePage(name, open(c.req.query()))));
  app.get(`/events/${name}`, (c) => streamUpdates(c, changes, open(c.req.query())));
}

export function renderLivePage<Parts extends AnyParts>(
  name: PageName,
  { title, query, view, render }: LivePage<Parts>,
): Html {
  const { items, parts } = view();
  const body = render(
    items.map((item) => renderItem(item)),
    parts,
  );
  return layout({ title, name, events: `/events/${name}${query}`, body });
}

/** `next` is the id of the item below it, where a new item belongs. It is empty at the end of the list. */
function renderItem({ id, className, keepsHeight, content }: LiveItem, next?: string): Html {
  const more = [
    className === undefined ? '' : html` class="${className}"`,
    next === undefined ? '' : html` data-next="${next}"`,
    keepsHeight ? html` data-keep` : '',
  ];
  return html`<li id="${id}"${more}>${content}</li>`;
}

/** At most one update of a page in this time, in milliseconds. */
const UPDATE_INTERVAL = 100;
/** Rendering a page takes at most one part in this many of the time. */
const MAX_UPDATE_SHARE = 10;

/** Sends the whole view first, and then what each change has changed. */
function streamUpdates<Parts extends AnyParts>(
  c: Context,
  changes: Changes,
  page: LivePage<Parts>,
): Response {
  const render = createUpdates(page);
  return streamSSE(c, async (stream) => {
    stream.onAbort(() => changes.notify());
    let event: 'all' | 'some' = 'all';
    while (!stream.aborted) {
      const startedAt = performance.now();
      const sentVersion = changes.version;
      const data = String(await render());
      const duration = performance.now() - startedAt;
      await stream.writeSSE({ event, data });
      event = 'some';
      if (sentVersion === changes.version) await changes.next();
      await stream.sleep(Math.max(UPDATE_INTERVAL, duration * MAX_UPDATE_SHARE));
    }
  });
}

/** Renders, at each call, the elements that changed since the call before, and an empty one in place of each that is gone. */
function createUpdates<Parts extends AnyParts>({ view }: LivePage<Parts>): () => Html {
  let sent: ReadonlyMap<string, string> = new Map();
  return () => {
    const { items, parts } = view();
    const elements = [
      // From the bottom up: the item below a new one is then there already.
      ...items
        .map((item, index) => ({
          id: item.id,
          content: String(renderItem(item)),
          markup: renderItem(item, items[index + 1]?.id ?? ''),
        }))
        .reverse(),
      ...Object.entries(parts).map(([id, part]) => ({ id, content: String(part), markup: part })),
    ];
    const had = sent;
    sent = new Map(elements.map(({ id, content }) => [id, content]));
    const gone = [...had.keys()].filter((id) => !sent.has(id));
    const changed = elements.filter(({ id, content }) => had.get(id) !== content);
    return html`${gone.map((id) => html`<li id="${id}" data-gone></li>`)}${changed.map(({ markup }) => markup)}`;
  };
}
