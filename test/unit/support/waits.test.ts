import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type PaymentsEvent, WaitTimeoutError } from '../../../src/index.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL } from '../../helpers/service.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each([API_KEY, EMAIL, `odd ${API_KEY}`, 'two\nlines'])(
  'prints no status that is not a plain word: %j',
  async (status) => {
    const events: PaymentsEvent[] = [];
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const { client } = createScriptedService(respondInTurn(status), {
      onEvent: (event) => events.push(event),
      logger: { debug: log, info: log, warn: log, error: log },
    });
    const failing = catchError(client.waitForFinalStatus('TXN-8f2c61d0', { timeout: 60_000 }));
    await vi.advanceTimersByTimeAsync(60_000);
    const error = await failing;
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ lastStatus: 'unrecognised', lastTransaction: { raw_status: status } });
    const reported = [
      inspect(events),
      lines.join('|'),
      inspect(error, { showHidden: true }),
      JSON.stringify(error),
    ];
    for (const text of reported) expect(text).not.toContain(status);
  },
);

test('prints a status that is a plain word as the service wrote it', async () => {
  const { client } = createScriptedService(respondInTurn('reversed'));
  const failing = catchError(client.waitForFinalStatus('TXN-8f2c61d0', { timeout: 60_000 }));
  await vi.advanceTimersByTimeAsync(60_000);
  const error = await failing;
  expect(error).toMatchObject({ lastStatus: 'reversed', lastTransaction: { customer_email: EMAIL } });
  expectNoSecrets(error, { key: API_KEY, email: EMAIL }, { getters: false });
});
