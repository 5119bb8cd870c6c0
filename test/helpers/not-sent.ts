import { expect } from 'vitest';
import { ConnectionError, type PaymentsClient } from '../../src/index.ts';
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
