import { describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/journal/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { answers, charge, failureOf, json, startService } from '../../helpers/service.ts';
import { changed, kinds, sharedStore } from './journals.ts';
import { charged, KEY, keyed, posts } from './keyed-calls.ts';

describe.each(kinds)('a journal in %s', (_kind, handles) => {
  test.each(posts)('holds the intent of %s before the request leaves', async (operation) => {
    const handle = handles();
    const other = handle();
    const found: (JournalEntry | null)[] = [];
    const service = await startService(async (response) => {
      found.push(await other.read(KEY));
      json(response, 200, answers[operation]());
    });
    await keyed[operation](service.client({ journal: handle() }));
    expect(found).toMatchObject([
      { state: 'begun', inProgress: true, operation, amount: '25.50', currency: 'GHS' },
    ]);
  });

  test.each(posts)('holds the result of %s before the caller has it', async (operation) => {
    const handle = handles();
    const service = await startService((response) => json(response, 200, answers[operation]()));
    const call = keyed[operation](service.client({ journal: handle() }));
    const other = handle();
    const seen = call.then(() => other.read(KEY));
    expect(await seen).toMatchObject({ state: 'completed', result: { reference: REFERENCE } });
  });

  test.each([
    [400, 'rejected'],
    [502, 'unknown'],
  ])('holds that the answer was %i before the caller hears of it: %s', async (status, state) => {
    const handle = handles();
    const service = await startService((response) => json(response, status, {}));
    const call = charged(service.client({ journal: handle() }));
    await failureOf(call);
    expect(await handle().read(KEY)).toMatchObject({ state });
  });
});

test('nothing leaves while the journal has not said that the intent is recorded', async () => {
  const shared = sharedStore();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const journal = changed(shared.journal(), {
    claim: async (...step) => {
      asked.resolve();
      await answer.promise;
      return shared.journal().claim(...step);
    },
  });
  const service = await startService((response) => json(response, 200, answers.chargeMobileMoney()));
  // A whole exchange with the service fits in between, so that a request sent too early would have come in.
  const call = charged(service.client({ journal }));
  await asked.promise;
  await service.client().chargeMobileMoney(charge);
  expect(service.requests).toHaveLength(1);
  answer.resolve();
  await call;
  expect(service.requests).toHaveLength(2);
});

test('the caller waits until the result is recorded', async () => {
  const shared = sharedStore();
  const journal = shared.journal();
  const ended = Promise.withResolvers<void>();
  const order: string[] = [];
  const late = changed(journal, {
    complete: async (...step) => {
      ended.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      order.push('recorded');
      return journal.complete(...step);
    },
  });
  const service = await startService((response) => json(response, 200, answers.chargeMobileMoney()));
  const call = charged(service.client({ journal: late })).then(() => order.push('told'));
  await ended.promise;
  await call;
  expect(order).toEqual(['recorded', 'told']);
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
});
