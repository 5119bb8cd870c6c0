import { texts as shared } from '../../../ui/texts.ts';
import { shownFieldsRule } from '../pages/fault-panel.ts';
import { texts } from './texts.ts';

const own = ['checkout.css', 'phone.css', 'dashboard.css'].map((name) => texts[name]);
const style = [shared['base.css'], ...own].join('\n');

/** Everything that the pages load. They load nothing from another origin. */
export const sandboxAssets: ReadonlyMap<string, { type: string; text: string }> = new Map([
  ['style.css', { type: 'text/css; charset=utf-8', text: `${style}\n${shownFieldsRule}` }],
  ['live.js', { type: 'text/javascript; charset=utf-8', text: `'use strict';\n${texts['live.js']}` }],
  ['icon.svg', { type: 'image/svg+xml', text: shared['icon.svg'] ?? '' }],
]);
