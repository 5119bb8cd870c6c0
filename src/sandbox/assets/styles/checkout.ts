/** The checkout page, and the pages that only show a message. */
export const checkoutStyle = `.message main, .checkout main { max-width: 27rem; padding-top: clamp(1rem, 8vh, 5rem); }
.message h1 { font-size: 1.375rem; }
.checkout .card { padding: 1.5rem; gap: 1.5rem; }
.checkout h1 { font-size: 1rem; font-weight: 400; color: var(--quiet); }
.checkout .sum { display: block; color: var(--text); font-size: 2.25rem; line-height: 1.15; font-weight: 700; }
.checkout form { display: grid; gap: .625rem; }
.checkout form .primary { min-height: 3.25rem; font-size: 1.0625rem; }
.checkout dl { border-top: 1px solid var(--line); padding-top: 1rem; }
.checkout .note { margin-top: .75rem; text-align: center; }
.result { display: grid; grid-template-columns: minmax(0, 1fr); justify-items: center; text-align: center; gap: .5rem; }
.result p { max-width: 100%; overflow-wrap: anywhere; }
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
`;
