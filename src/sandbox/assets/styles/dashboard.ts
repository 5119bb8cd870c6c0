const formKinds = [
  'status',
  'rateLimited',
  'hang',
  'wrongAmount',
  'wrongCurrency',
  'wrongReference',
  'unrecognisedStatus',
  'lateApproval',
  'late',
  'early',
  'forged',
];

/** The fields of a form that belong to the selected fault. */
const shownFields = formKinds
  .map((kind) => `.fields:has(option[value=${kind}]:checked) .of.${kind}`)
  .join(',\n');

/** The pages of transactions and of webhooks. */
export const dashboardStyle = `.columns { display: grid; gap: 1.25rem; }
.list, .aside { display: grid; gap: .75rem; align-content: start; min-width: 0; }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; min-height: 2rem; }
.title form { margin-left: auto; }
.title:not(:has(.waiting)) form { display: none; }
.count { color: var(--quiet); font-size: .875rem; }
.search { display: flex; flex-wrap: wrap; gap: .5rem; }
.search input { flex: 1 1 14rem; }
.search select { flex: 0 1 auto; width: auto; }
.rows { display: grid; gap: .375rem; }
.rows:has(li) + .empty { display: none; }
.empty.card { padding: 1.5rem; }
.empty h3 { font-size: 1.05rem; color: var(--text); }
.empty code { color: var(--text); }

summary {
  position: relative; cursor: pointer; padding: .625rem .875rem .625rem 2.25rem; display: grid; gap: .125rem .875rem; align-items: center;
}
summary::-webkit-details-marker { display: none; }
summary::before {
  content: ''; position: absolute; left: .95rem; top: 1.15rem; width: .5rem; height: .5rem; transition: rotate .15s;
  border: solid var(--quiet); border-width: 0 2px 2px 0; rotate: -45deg;
}
[open] > summary::before { rotate: 45deg; }
summary:hover { background: var(--ground); }
summary:hover::before { border-color: var(--text); }
summary:focus-visible { outline-offset: -3px; border-radius: .75rem; }
summary > * { min-width: 0; }
.rows > li { overflow: hidden; }
.rows > li > details > summary { grid-template: 'amount badge' 'who who' 'how how' 'reference meta' 'marks marks' / 1fr auto; }
.webhooks .rows > li > details > summary { grid-template: 'event badge' 'outcome when' 'reference reference' / minmax(0, 1fr) auto; }
summary .badge { grid-area: badge; justify-self: end; }
summary .amount { grid-area: amount; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
summary .who { grid-area: who; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: .875rem; }
summary .how { grid-area: how; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: .875rem; }
summary .reference { grid-area: reference; overflow-wrap: anywhere; font-size: .8125rem; }
summary .meta { grid-area: meta; display: flex; gap: .5rem; align-items: center; justify-content: end; }
.how, .reference, .when, .key { color: var(--quiet); }
.when, .key { font-size: .8125rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tag { padding: 0 .375rem; border: 1px solid currentColor; border-radius: .25rem; font-size: .75rem; white-space: nowrap; color: var(--quiet); }
.tag.live { color: var(--live); background: var(--live-ground); border-color: transparent; }
.tag.fault { color: var(--pending); background: var(--pending-ground); border-color: transparent; }
.marks { grid-area: marks; display: flex; flex-wrap: wrap; gap: .25rem .5rem; font-size: .8125rem; font-weight: 600; color: var(--pending); }
.marks > span { padding: .0625rem .5rem; border-radius: .25rem; background: var(--pending-ground); border-left: 3px solid; }
.behind { padding: .25rem .875rem 1rem 2.25rem; font-size: .875rem; display: grid; gap: .75rem; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; }
.behind .action, .behind .actions button { font-size: .875rem; }

.requests, .attempts { border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
.requests > li + li, .attempts > li + li { border-top: 1px solid var(--line); }
.requests > .small { padding: .5rem .75rem; }
.requests summary { grid-template: 'name when' 'outcome outcome' 'key key' / 1fr auto; padding: .5rem .75rem .5rem 2rem; font-size: .875rem; }
.requests summary::before { left: .8rem; top: .9rem; width: .4rem; height: .4rem; }
.requests .name { grid-area: name; font-weight: 600; overflow-wrap: anywhere; }
.requests .outcome { grid-area: outcome; overflow-wrap: anywhere; }
.requests .when { grid-area: when; }
.requests .key { grid-area: key; }
.requests dl { padding: .25rem .75rem .75rem 2rem; }
.aside .copyable code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
dd > pre { margin-top: .125rem; }
.bad { color: var(--failed); font-weight: 600; }
.attempts > li { padding: .5rem .75rem; display: grid; gap: .375rem; grid-template-columns: 1fr auto; }
.attempts pre { grid-column: 1 / -1; }
.event { font-size: .875rem; overflow-wrap: anywhere; }
.webhooks summary .event { grid-area: event; }
.webhooks summary .outcome { grid-area: outcome; font-size: .875rem; }
.webhooks summary .when { grid-area: when; justify-self: end; }
.deliveries a { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .625rem; min-height: 2.75rem; color: inherit; text-decoration: none; }
.deliveries a:hover b { text-decoration: underline; }
.deliveries .when { margin-left: auto; }

.copyable { display: flex; align-items: center; gap: .5rem; }
.copyable code { flex: 1; min-width: 0; }
.copy { flex: none; min-height: 2rem; padding: .125rem .625rem; font-size: .8125rem; }
html:not(.scripted) .copy { display: none; }
.facts .copyable { gap: .75rem; }

.fields { display: grid; gap: .625rem; }
.fields label { font-size: .875rem; display: grid; gap: .125rem; }
.fields .tick { grid-template-columns: auto 1fr; align-items: center; gap: .5rem; min-height: 2.75rem; }
.tick input { width: 1.25rem; height: 1.25rem; }
.fields .of { display: none; }
${shownFields} { display: grid; }
.fields div.of { gap: .625rem; }
#queued-faults, #webhook-faults, #receiver-url, #clock { font-size: .875rem; display: grid; gap: .5rem; overflow-wrap: anywhere; }
.aside .queue { padding: .75rem; border-radius: .5rem; color: var(--failed); background: var(--failed-ground); }
.queue button { width: 100%; background: var(--card); }
#time .actions button { flex: 1; padding: .375rem; white-space: nowrap; }
#unmatched { padding: 0; overflow: hidden; }
#unmatched > details > summary { display: block; font-size: .875rem; }
#unmatched .last { display: block; color: var(--quiet); }
#unmatched .requests { margin: 0 .875rem .875rem; }
#unmatched:empty, #pages:empty { display: none; }
.tabs { display: none; }

@media (min-width: 62rem) {
  main { padding: 1.25rem; }
  .columns { grid-template-columns: minmax(0, 1fr) 22rem; }
  .dashboard .rows > li > details > summary {
    grid-template: 'badge amount who reference' 'badge amount how meta' 'marks marks marks marks' / 9rem minmax(8.5rem, auto) minmax(0, 1fr) auto;
  }
  .webhooks .rows > li > details > summary { grid-template: 'badge event outcome reference when' / 6.5rem 12rem minmax(0, 1fr) auto auto; }
  .rows > li > details > summary::before { top: calc(50% - .3rem); }
  .rows > li > details > summary:has(.marks)::before { top: 1.5rem; }
  .requests summary { grid-template: 'name outcome key when' / 9rem minmax(0, 1fr) auto auto; }
  .requests dl, .behind > dl:not(.facts) { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .375rem 0; }
  .requests dt, .behind > dl:not(.facts) dt { margin: .0625rem 0 0; }
  summary .badge { justify-self: start; }
  summary .reference { text-align: right; }
}
@media (max-width: 62rem) {
  .dashboard main, .webhooks main { padding-bottom: 5rem; }
  .copy { min-height: 2.75rem; }
  .panel { display: none; }
  .panel:target { display: grid; }
  .columns:has(.panel:target) .list { display: none; }
  .search input { flex-basis: 100%; }
  .search select { flex: 1 1 0; padding: 0 .25rem; font-size: .9375rem; }
  .search button, .search .action { padding: 0 .75rem; }
  .behind { padding: .25rem .875rem 1rem; }
  .behind .action, .behind .actions button { padding: 0 .75rem; }
  .requests dl { padding: 0 .75rem .75rem; }
  .tabs {
    position: fixed; inset: auto 0 0; display: flex; gap: 0; padding-bottom: env(safe-area-inset-bottom);
    background: var(--card); border-top: 1px solid var(--line);
  }
  .tabs a {
    flex: 1; display: grid; place-items: center; min-height: 3.25rem; padding: 0 .125rem; font-size: .75rem; font-weight: 600;
    color: var(--quiet); text-decoration: none; border-top: 3px solid transparent;
  }
  body:not(:has(.panel:target)) .tabs a:first-child,
  ${['access', 'faults', 'time', 'receiver', 'forge']
    .map((id) => `:has(#${id}:target) .tabs a[href='#${id}']`)
    .join(', ')} { color: var(--text); border-color: var(--accent); }
}
`;
