import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/index.ts';
import type * as outcome from '../../../src/ledger/outcome.ts';
import type { PressDecision } from '../../../src/ledger/press.ts';
import type { Journal, JournalState } from '../../../src/stores/index.ts';

/** The compiler keeps these lists complete, and their names those of the code. */
const states: Record<JournalState, true> = {
  begun: true,
  completed: true,
  not_sent: true,
  rejected: true,
  unknown: true,
  not_charged: true,
  closed: true,
};
const steps: Record<Extract<keyof (Journal & typeof outcome), 'renew' | 'complete' | 'resolve'>, true> = {
  renew: true,
  complete: true,
  resolve: true,
};
/** What a call does in words of the page. The other decisions are those of an order. */
const decisions = {
  send: 'claims the key and sends',
  replay: 'replays the recorded result',
} satisfies Partial<Record<PressDecision['do'], string>>;
const events: Record<JournalEvent['result'], true> = {
  replayed: true,
  waiting: true,
  unresolved: true,
  not_recorded: true,
};

const page = readFileSync('docs/guides/prevent-double-charges.md', 'utf8');
const picture = readFileSync('docs/images/idempotency-states.svg', 'utf8');

describe('docs/guides/prevent-double-charges.md', () => {
  test.each([...Object.keys(states), ...Object.keys(events)])('names %s', (name) =>
    expect(page).toContain(`\`${name}\``),
  );

  test.each(Object.values(decisions))('says when a call %s', (words) =>
    expect(page).toContain(`| ${words} |`),
  );

  test.each(['claim', ...Object.keys(steps)])('explains the step %s', (step) =>
    expect(page).toMatch(new RegExp(`\\*\\*${step}\\.\\*\\*|\\bpayments\\.${step}\\(`, 'i')),
  );

  test('shows the picture', () => expect(page).toContain('(../images/idempotency-states.svg)'));
});

describe('docs/images/idempotency-states.svg', () => {
  test.each(Object.keys(states))('draws the state %s in bold', (state) =>
    expect(picture).toMatch(new RegExp(`<text [^>]*font-weight="bold"[^>]*>${state}<`)),
  );

  test.each(['claim', ...Object.keys(steps)])('draws the step %s', (step) =>
    expect(picture).toMatch(new RegExp(`>(?:[^<]* )?${step}(?![\\w-])`)),
  );
});
