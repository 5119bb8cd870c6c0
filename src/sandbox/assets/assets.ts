import { icon } from './icon.ts';
import { liveScript } from './live-script.ts';
import { style } from './style.ts';

/** What the pages load, all of it from here. */
export const assets: ReadonlyMap<string, { type: string; text: string }> = new Map([
  ['style.css', { type: 'text/css; charset=utf-8', text: style }],
  ['live.js', { type: 'text/javascript; charset=utf-8', text: liveScript }],
  ['icon.svg', { type: 'image/svg+xml', text: icon }],
]);
