import { afterEach, expect, test, vi } from 'vitest';
import { WaitTimeoutError } from '../../src/index.ts';
import { REFERENCE } from '../support/calls.ts';
import { inTurn, scriptedService } from '../support/scripted-service.ts';
import { failureOf } from '../support/service.ts';

afterEach(() => {
  vi.useRealTimers();
});

const realNow = performance.now.bind(performance);

test("vitest's fake timers drive a wait of ten minutes in well under a second", async () => {
  vi.useFakeTimers();
  const began = realNow();
  const { client, seen } = scriptedService(inTurn('pending'));
  const failure = failureOf(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await failure).toBeInstanceOf(WaitTimeoutError);
  expect(await failure).toMatchObject({ elapsed: 600_000 });
  expect(seen.length).toBeGreaterThan(45);
  expect(realNow() - began).toBeLessThan(2_000);
});

test('timer by timer, too', async () => {
  vi.useFakeTimers();
  const { client } = scriptedService(inTurn('pending', 'pending', 'processing', 'success'));
  let status: string | undefined;
  const wait = client.waitForFinalStatus(REFERENCE).then((transaction) => {
    status = transaction.status;
  });
  for (let count = 0; count < 20 && !status; count++) await vi.advanceTimersToNextTimerAsync();
  await wait;
  expect(status).toBe('success');
});

test('fake timers that begin after the client was made, and end before it is used again, work', async () => {
  const { client } = scriptedService(inTurn('pending', 'success', 'success'));
  vi.useFakeTimers();
  const wait = client.waitForFinalStatus(REFERENCE);
  await vi.advanceTimersByTimeAsync(6_000);
  expect((await wait).status).toBe('success');
  vi.useRealTimers();
  expect((await client.waitForFinalStatus(REFERENCE)).status).toBe('success');
});
