export const style = `:root {
  color-scheme: light dark;
  --ground: #f4f5f3; --card: #fff; --text: #1b211f; --quiet: #5a6561; --line: #dde2df;
  --accent: #0b6b53; --on-accent: #fff; --focus: #1d5fd1;
  --success: #0a6b3d; --success-ground: #dcf3e4; --failed: #a61b2b; --failed-ground: #fce3e5;
  --abandoned: #59616b; --abandoned-ground: #e8eaed; --pending: #7a5200; --pending-ground: #fdefc8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121614; --card: #1c2220; --text: #e9eeeb; --quiet: #a3afaa; --line: #343d3a;
    --accent: #4cc9a1; --on-accent: #06251b; --focus: #8ab4ff;
    --success: #7fe0a7; --success-ground: #12392a; --failed: #ff9aa5; --failed-ground: #47191f;
    --abandoned: #b7c0ca; --abandoned-ground: #2f363d; --pending: #f2c95c; --pending-ground: #40330f;
  }
}
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1, h2, p, ol, ul, dl, dd { margin: 0; padding: 0; }
ol, ul { list-style: none; }
h2 { font-size: 1.05rem; line-height: 1.3; }
a { color: var(--accent); }
code { font: .875em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

body > header {
  display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem;
  padding: .625rem 1rem; background: var(--card); border-bottom: 1px solid var(--line);
}
.brand { font-weight: 700; color: var(--text); text-decoration: none; padding: .5rem 0; }
nav { display: flex; gap: .25rem; }
nav a { padding: .5rem .625rem; border-radius: .5rem; color: var(--quiet); text-decoration: none; }
nav a:hover { color: var(--text); }
nav a[aria-current] { background: var(--ground); color: var(--text); font-weight: 600; }
#connection { margin-left: auto; color: var(--quiet); font-size: .875rem; }
#connection::before {
  content: ''; display: inline-block; width: .6em; height: .6em; margin-right: .4em; border-radius: 50%; background: var(--failed);
}
#connection[data-state=on]::before { background: var(--success); }
main { padding: 1rem; max-width: 84rem; margin: 0 auto; }

.card, .rows > li { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.card { padding: 1rem; display: grid; gap: .75rem; }
.note, .small, .empty { color: var(--quiet); font-size: .875rem; }
dt { color: var(--quiet); font-size: .8125rem; }
dd { overflow-wrap: anywhere; }
dd + dt { margin-top: .5rem; }
dd code { user-select: all; }
button, input, select { font: inherit; color: inherit; }
button {
  min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: .625rem;
  background: var(--ground); font-weight: 600; cursor: pointer; overflow-wrap: anywhere;
}
button:hover { border-color: var(--quiet); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.primary:hover { filter: brightness(1.1); }
input:not([type=checkbox]), select {
  width: 100%; min-height: 2.75rem; padding: .375rem .625rem; background: var(--card);
  border: 1px solid var(--quiet); border-radius: .5rem;
}
.badge {
  padding: .0625rem .5rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600; white-space: nowrap;
  color: var(--pending); background: var(--pending-ground);
}
.badge.success { color: var(--success); background: var(--success-ground); }
.badge.failed { color: var(--failed); background: var(--failed-ground); }
.badge.abandoned { color: var(--abandoned); background: var(--abandoned-ground); }
.sum { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.new { animation: arrive .6s ease-out; }
@keyframes arrive { from { opacity: 0; transform: translateY(-.75rem); } }
@media (prefers-reduced-motion: reduce) { .new { animation: none; } }

.message main, .checkout main { max-width: 27rem; padding-top: clamp(1rem, 8vh, 5rem); }
.message h1 { font-size: 1.375rem; }
.checkout .card { padding: 1.5rem; gap: 1.5rem; }
.checkout h1 { font-size: 1rem; font-weight: 400; color: var(--quiet); }
.checkout .sum { display: block; color: var(--text); font-size: 2.25rem; line-height: 1.15; font-weight: 700; }
.checkout form { display: grid; gap: .625rem; }
.checkout form .primary { min-height: 3.25rem; font-size: 1.0625rem; }
.checkout dl { border-top: 1px solid var(--line); padding-top: 1rem; }
.checkout .note { margin-top: .75rem; text-align: center; }
.result { display: grid; justify-items: center; text-align: center; gap: .5rem; }
.result .mark {
  width: 3.5rem; height: 3.5rem; border-radius: 50%; display: grid; place-items: center; font-size: 1.75rem;
  color: var(--abandoned); background: var(--abandoned-ground);
}
.result.success .mark { color: var(--success); background: var(--success-ground); }
.result .back {
  display: grid; place-items: center; min-height: 2.75rem; padding: .5rem 1rem; border-radius: .625rem;
  background: var(--accent); color: var(--on-accent); font-weight: 600; text-decoration: none;
}
.result.failed .mark { color: var(--failed); background: var(--failed-ground); }

.phone main { display: grid; justify-items: center; gap: .75rem; }
.handset { width: min(23rem, 100%); padding: .75rem; border-radius: 2.75rem; background: #0d1110; outline: 1px solid #3a4441; box-shadow: 0 1rem 3rem #0004; }
.screen {
  height: min(42rem, 78vh); overflow-y: auto; border-radius: 2.125rem; padding: 2.25rem .75rem 1rem;
  background: linear-gradient(160deg, #17463a, #1f2f4d); color: #fff; display: flex; flex-direction: column; gap: 1rem;
}
.screen :focus-visible { outline-color: var(--focus); }
.prompts { display: grid; gap: .75rem; }
.prompts:has(li) + .empty { display: none; }
.screen .empty { margin: auto; padding: 1rem; text-align: center; color: #dfe8e5; font-size: 1rem; }
.prompt {
  --network: #ffcb05; padding: 1.375rem 1rem 1rem; display: grid; gap: .625rem; border-radius: 1.125rem;
  color: var(--text); background: linear-gradient(var(--network) .5rem, var(--card) .5rem);
}
.prompt.telecel { --network: #e2001a; }
.prompt.airteltigo { --network: #3d74d6; }
.prompt h2 { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .75rem; font-size: .9375rem; }
.prompt h2 span { font-weight: 400; color: var(--quiet); overflow-wrap: anywhere; }
.prompt .sum { font-size: 1.125rem; }
.prompt form { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem; }
.prompt label { grid-column: 1 / -1; font-size: .875rem; }
.prompt input { grid-column: 1 / -1; text-align: center; letter-spacing: .5em; font-size: 1.25rem; }
.prompt button { grid-row: 4; }
.prompt .primary { grid-column: 2; }
.wrong { grid-column: 1 / -1; grid-row: 3; color: var(--failed); font-size: .875rem; }
.screen ul { display: grid; gap: .5rem; margin-top: .375rem; }
#messages h2 { font-size: .875rem; font-weight: 600; color: #dfe8e5; }
#messages li { display: flex; align-items: center; gap: .625rem; padding: .5rem .75rem; border-radius: .75rem; background: #0004; font-size: .9375rem; }
#messages time { margin-left: auto; font-size: .8125rem; }
#messages b { overflow-wrap: anywhere; }

.columns { display: grid; gap: 1.25rem; }
.columns > section, .aside { display: grid; gap: .625rem; align-content: start; min-width: 0; }
.count { color: var(--quiet); font-weight: 400; font-size: .875rem; margin-left: .25rem; }
.rows { display: grid; gap: .375rem; }
.rows:has(li) + .empty { display: none; }
.rows > li { overflow: hidden; }
summary { cursor: pointer; padding: .625rem .875rem; display: grid; gap: .125rem .75rem; grid-template-columns: 1fr auto; align-items: center; }
summary::-webkit-details-marker { display: none; }
summary:hover { background: var(--ground); }
summary:focus-visible { outline-offset: -3px; border-radius: .75rem; }
summary .badge { grid-row: 1; grid-column: 2; justify-self: end; }
summary .amount { grid-row: 1; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.who, .how, .reference, .when { min-width: 0; overflow-wrap: anywhere; font-size: .875rem; }
.how, .reference, .when { color: var(--quiet); }
summary .who, summary .how { grid-column: 1 / -1; }
.when { text-align: right; }
.behind { padding: .25rem .875rem .875rem; font-size: .875rem; display: grid; gap: .5rem; }
table { width: 100%; border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 400; color: var(--quiet); }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
td:nth-child(n+3) { white-space: nowrap; }
.bad { color: var(--failed); font-weight: 600; }
.fault-form { display: grid; gap: .625rem; }
.fault-form label { font-size: .875rem; display: grid; gap: .125rem; }
.fault-form .tick { grid-template-columns: auto 1fr; align-items: center; gap: .5rem; min-height: 2rem; }
.tick input { width: 1.25rem; height: 1.25rem; }
.fault-form .of { display: none; }
${[
  'status',
  'rateLimited',
  'hang',
  'wrongAmount',
  'wrongCurrency',
  'wrongReference',
  'unrecognisedStatus',
  'lateApproval',
]
  .map((kind) => `.fault-form:has([value=${kind}]:checked) .of.${kind}`)
  .join(',\n')} { display: grid; }
#queued-faults { font-size: .875rem; color: var(--quiet); display: grid; gap: .5rem; }
#queued-faults.active { padding: .75rem; border-radius: .5rem; color: var(--failed); background: var(--failed-ground); }
#queued-faults button { width: 100%; color: var(--text); background: var(--card); }
#unmatched:empty { display: none; }

@media (min-width: 62rem) {
  main { padding: 1.25rem; }
  .columns { grid-template-columns: minmax(0, 1fr) 21rem; }
  summary { grid-template-columns: 6.25rem 9rem minmax(0, 1fr) auto auto; }
  summary .badge { grid-row: 1 / 3; grid-column: 1; justify-self: start; }
  summary .amount { grid-row: 1 / 3; grid-column: 2; }
  summary .reference, summary .when { grid-row: 1 / 3; }
  summary .who { grid-row: 1; grid-column: 3; }
  summary .how { grid-row: 2; grid-column: 3; }
}
@media (max-width: 30rem) {
  body > header { gap: .25rem .5rem; padding: .375rem 1rem; }
  .brand, nav a { font-size: .9375rem; }
  nav a { padding: .5rem .375rem; }
  #connection[data-state=on] { font-size: 0; }
  #connection::before { width: .625rem; height: .625rem; margin: 0; }
  .screen { height: min(42rem, 72vh); padding-top: 1.5rem; }
}
`;
