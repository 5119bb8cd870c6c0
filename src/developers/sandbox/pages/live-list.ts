import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';

/** An element of a list. Its `data-next` is the id of the one below it, where it belongs when it is new. */
export interface ListItem {
  readonly id: string;
  render(next: string): Html;
}

/** What a page shows that can change. */
export interface ListView {
  /** Newest first. */
  readonly items: readonly ListItem[];
  /** Elements with an id beside the list, always the same number of them. */
  readonly others: readonly Html[];
}

/** Renders the items of a list, newest first. */
export function renderItems(items: readonly ListItem[]): Html[] {
  return items.map((item, index) => item.render(items[index + 1]?.id ?? ''));
}

/** Renders what one open page does not have yet: elements with an id, each of which replaces the one before. */
export type LiveView = () => Html;

/** Keeps one open page up to date. It remembers what the page has, and renders only what differs. */
export function createLiveList(view: () => ListView): LiveView {
  let sentItems: ReadonlyMap<string, string> = new Map();
  let sentOthers: readonly string[] = [];
  return () => {
    const now = view();
    const rendered = renderItems(now.items);
    const [hadItems, hadOthers] = [sentItems, sentOthers];
    sentItems = new Map(now.items.map(({ id }, index) => [id, String(rendered[index])]));
    sentOthers = now.others.map(String);
    const gone = [...hadItems.keys()].filter((id) => !sentItems.has(id));
    // Oldest first: the element below a new one is then there already.
    const changed = rendered
      .filter((_, index) => {
        const id = now.items[index]?.id ?? '';
        return hadItems.get(id) !== sentItems.get(id);
      })
      .reverse();
    return html`${gone.map((id) => html`<li id="${id}" data-gone></li>`)}${changed}${now.others.filter((_, index) => sentOthers[index] !== hadOthers[index])}`;
  };
}
