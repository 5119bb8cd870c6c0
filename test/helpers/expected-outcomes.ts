import { expect } from 'vitest';
import { ConnectionError, OutcomeUnknownError, type PaymentsClient } from '../../src/index.ts';
import { calls, posts, REFERENCE } from './calls.ts';
import { catchError } from './service.ts';

/** Proves that no connection was made: every operation reports it, and is retryable. */
export async function expectNotSent(client: PaymentsClient, code: unknown) {
  for (const operation of posts) {
    const failure = await catchError(calls[operation](client));
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({
      name: 'ConnectionError',
      code: 'connection_error',
      operation,
      outcome: 'not_sent',
      retryable: true,
    });
    expect(String(failure)).toContain('nothing was sent');
    const { cause } = Object(failure);
    expect([cause.code, cause.cause?.code]).toContain(code);
  }
  const onVerify = await catchError(client.verify(REFERENCE));
  expect(onVerify).toBeInstanceOf(ConnectionError);
  expect(onVerify).toMatchObject({ operation: 'verify', outcome: null, retryable: true });
}

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
