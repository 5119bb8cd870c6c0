import { controlScript } from './control-script.ts';
import { liveScript } from './live-script.ts';
import { style } from './style.ts';

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect x="2" y="6" width="28" height="20" rx="4" fill="#0b6b53"/>
<path d="M2 12h28" stroke="#ffd166" stroke-width="4"/>
<circle cx="23" cy="20.500" r="2.500" fill="#fff"/>
</svg>`;

/** Everything that the pages load. They load nothing from another origin. */
export const assets: ReadonlyMap<string, { type: string; text: string }> = new Map([
  ['style.css', { type: 'text/css; charset=utf-8', text: style }],
  [
    'live.js',
    { type: 'text/javascript; charset=utf-8', text: `'use strict';\n${liveScript}${controlScript}` },
  ],
  ['icon.svg', { type: 'image/svg+xml', text: icon }],
]);
