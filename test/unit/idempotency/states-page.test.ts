import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/index.ts';
import type { ClaimResult, JournalCore } from '../../../src/journal/core.ts';
import type { Journal, JournalState } from '../../../src/journal/index.ts';

/** The compiler keeps these lists complete. */
const states: Record<JournalState, true> = {
  begun: true,
  completed: true,
  not_sent: true,
  rejected: true,
  unknown: true,
  not_charged: true,
  closed: true,
};
const steps: Record<
  Extract<keyof (Journal & JournalCore), 'claim' | 'renew' | 'complete' | 'resolve'>,
  true
> = {
  claim: true,
  renew: true,
  complete: true,
  resolve: true,
};
const claimStates: Record<ClaimResult['state'], true> = {
  claimed: true,
  in_progress: true,
  completed: true,
  unknown: true,
  closed: true,
  conflict: true,
  other_owner: true,
  other_service: true,
};
const events: Record<JournalEvent['result'], true> = {
  replayed: true,
  waiting: true,
  unresolved: true,
  not_recorded: true,
};

const page = readFileSync('docs/reference/idempotency-states.md', 'utf8');
const picture = readFileSync('docs/images/idempotency-states.svg', 'utf8');

describe('docs/reference/idempotency-states.md', () => {
  test.each([...Object.keys(states), ...Object.keys(claimStates), ...Object.keys(events)])(
    'names %s',
    (name) => expect(page).toContain(`\`${name}\``),
  );

  test.each(Object.keys(steps))('explains the step %s', (step) =>
    expect(page).toMatch(new RegExp(`\\*\\*${step}\\.\\*\\*|\\bpayments\\.${step}\\(`, 'i')),
  );

  test('shows the picture', () => expect(page).toContain('(../images/idempotency-states.svg)'));
});

describe('docs/images/idempotency-states.svg', () => {
  test.each(Object.keys(states))('draws the state %s in bold', (state) =>
    expect(picture).toMatch(new RegExp(`<text [^>]*font-weight="bold"[^>]*>${state}<`)),
  );

  test.each(Object.keys(steps))('draws the step %s', (step) =>
    expect(picture).toMatch(new RegExp(`>(?:[^<]* )?${step}(?![\\w-])`)),
  );
});
