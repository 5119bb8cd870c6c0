import { expect } from 'vitest';
import { OutcomeUnknownError, type PaymentsClient } from '../../src/index.ts';
import { calls, posts, REFERENCE } from './calls.ts';
import { catchError } from './service.ts';

const codes = { ConnectionError: 'connection_error', RequestTimeoutError: 'request_timeout' } as const;

/** Expects that both POSTs end with an unknown outcome and this cause, and a verify with the error itself, retryable. */
export async function expectUnknownOutcome(
  client: PaymentsClient,
  name: keyof typeof codes,
): Promise<unknown> {
  const code = codes[name];
  for (const operation of posts) {
    const failure = await catchError(calls[operation](client));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({
      operation,
      outcome: 'unknown',
      retryable: false,
      cause: { name, code, operation, outcome: 'unknown', retryable: false },
    });
  }
  const onVerify = await catchError(client.verify(REFERENCE));
  expect(onVerify).toMatchObject({ name, code, operation: 'verify', outcome: null, retryable: true });
  return onVerify;
}
