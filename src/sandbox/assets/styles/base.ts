/** Colours, text and controls of every page. */
export const baseStyle = `:root {
  color-scheme: light dark;
  --ground: #f4f5f3; --card: #fff; --text: #1b211f; --quiet: #5a6561; --line: #dde2df;
  --accent: #0b6b53; --on-accent: #fff; --focus: #1d5fd1;
  --success: #0a6b3d; --success-ground: #dcf3e4; --failed: #a61b2b; --failed-ground: #fce3e5;
  --expired: #8a3f00; --expired-ground: #ffe6d1; --abandoned: #59616b; --abandoned-ground: #e8eaed;
  --pending: #7a5200; --pending-ground: #fdefc8; --live: #1c4f9c; --live-ground: #e1ebfb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121614; --card: #1c2220; --text: #e9eeeb; --quiet: #a3afaa; --line: #343d3a;
    --accent: #4cc9a1; --on-accent: #06251b; --focus: #8ab4ff;
    --success: #7fe0a7; --success-ground: #12392a; --failed: #ff9aa5; --failed-ground: #47191f;
    --expired: #ffb27a; --expired-ground: #46260e; --abandoned: #b7c0ca; --abandoned-ground: #2f363d;
    --pending: #f2c95c; --pending-ground: #40330f; --live: #a9c8ff; --live-ground: #1b2f52;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1, h2, h3, p, ol, ul, dl, dd, pre { margin: 0; padding: 0; }
ol, ul { list-style: none; }
h2 { font-size: 1.05rem; line-height: 1.3; }
h3 { font-size: .875rem; line-height: 1.3; }
a { color: var(--accent); }
code, pre { font: .875em/1.5 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre {
  max-height: 18rem; overflow: auto; padding: .5rem .625rem; border-radius: .5rem; background: var(--ground); white-space: pre-wrap;
}
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

body > header {
  display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem;
  padding: .5rem 1rem; background: var(--card); border-bottom: 1px solid var(--line);
}
.brand { display: flex; align-items: center; gap: .5rem; min-height: 2.75rem; font-weight: 700; color: var(--text); text-decoration: none; }
.brand::before { content: ''; width: 1.5rem; height: 1.5rem; background: url(/assets/icon.svg) center / contain no-repeat; }
nav { display: flex; gap: .25rem; }
header nav a {
  display: flex; align-items: center; min-height: 2.75rem; padding: 0 .75rem; border-radius: .5rem; color: var(--quiet); text-decoration: none;
}
header nav a:hover { color: var(--text); }
header nav a[aria-current] { background: var(--ground); color: var(--text); font-weight: 600; }
#connection { margin-left: auto; color: var(--quiet); font-size: .875rem; }
#connection::before {
  content: ''; display: inline-block; width: .6em; height: .6em; margin-right: .4em; border-radius: 50%; background: var(--failed);
}
#connection[data-state=on]::before { background: var(--success); }
#connection[data-state=lost]::before { background: none; border: 2px solid var(--failed); }
main { padding: 1rem; max-width: 88rem; margin: 0 auto; }

.card, .rows > li { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.card { padding: 1rem; display: grid; gap: .75rem; min-width: 0; align-content: start; }
.card > * { min-width: 0; }
.note, .small, .empty { color: var(--quiet); font-size: .875rem; }
dt { color: var(--quiet); font-size: .8125rem; }
dd { overflow-wrap: anywhere; }
dd + dt { margin-top: .5rem; }
button, input, select { font: inherit; color: inherit; }
button, .action {
  display: inline-flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: .375rem 1rem; font-weight: 600;
  border: 1px solid var(--line); border-radius: .625rem; background: var(--ground); cursor: pointer; overflow-wrap: anywhere;
  color: var(--text); text-decoration: none;
}
button:hover, .action:hover { border-color: var(--quiet); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.primary:hover { filter: brightness(1.1); }
input:not([type=checkbox]), select {
  width: 100%; min-width: 0; min-height: 2.75rem; padding: .375rem .625rem; background: var(--card);
  border: 1px solid var(--quiet); border-radius: .5rem;
}
::placeholder { color: var(--quiet); opacity: 1; }
.badge {
  display: inline-flex; align-items: center; gap: .3rem; padding: .0625rem .5rem .0625rem .375rem; border-radius: 1rem;
  font-size: .8125rem; font-weight: 600; white-space: nowrap; color: var(--pending); background: var(--pending-ground);
}
.badge svg { flex: none; width: .875rem; height: .875rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.badge.success { color: var(--success); background: var(--success-ground); }
.badge.failed { color: var(--failed); background: var(--failed-ground); }
.badge.expired { color: var(--expired); background: var(--expired-ground); }
.badge.abandoned { color: var(--abandoned); background: var(--abandoned-ground); }
.sum { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.new { animation: arrive .6s ease-out; }
@keyframes arrive { from { opacity: 0; transform: translateY(-.75rem); } }
@media (max-width: 30rem) {
  body > header { gap: 0 .25rem; padding: .25rem .5rem; flex-wrap: nowrap; }
  .brand { font-size: 0; gap: 0; padding: 0 .625rem; }
  header nav a { padding: 0 .625rem; font-size: .9375rem; }
  #connection { font-size: 0; }
  #connection::before { width: .75rem; height: .75rem; margin: 0 .5rem; }
}
@media (max-width: 22rem) {
  .brand { display: none; }
  header nav a { padding: 0 .5rem; font-size: .875rem; }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
`;
