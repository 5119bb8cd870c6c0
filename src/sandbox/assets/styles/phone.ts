/** The customer's phone. */
export const phoneStyle = `.phone main { display: grid; justify-items: center; gap: .75rem; }
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
.prompt button { grid-row: 4; padding-inline: .5rem; }
.prompt .primary { grid-column: 2; }
.wrong { grid-column: 1 / -1; grid-row: 3; color: var(--failed); font-size: .875rem; }
.screen ul { display: grid; gap: .5rem; margin-top: .375rem; }
#messages h2 { font-size: .875rem; font-weight: 600; color: #dfe8e5; }
#messages li { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .625rem; padding: .5rem .75rem; border-radius: .75rem; background: #0004; font-size: .9375rem; }
#messages time { margin-left: auto; font-size: .8125rem; }
#messages b { overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  .screen { height: min(42rem, 72vh); padding-top: 1.5rem; }
}
`;
