import { texts as shared } from '../../ui/texts.ts';
import { texts } from './texts.ts';

/** Everything that the pages load. They load nothing from another origin. */
export const deskAssets: ReadonlyMap<string, { readonly type: string; readonly text: string }> =
  /* @__PURE__ */ new Map([
    ['style.css', { type: 'text/css; charset=utf-8', text: `${shared['base.css']}\n${texts['desk.css']}` }],
    ['icon.svg', { type: 'image/svg+xml', text: shared['icon.svg'] ?? '' }],
  ]);
