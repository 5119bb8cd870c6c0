import { expect, test } from 'vitest';
import { ConnectionError, OutcomeUnknownError, UnexpectedResponseError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { catchError, charge, startService, successBodies } from '../../helpers/service.ts';

/** Statuses that fetch hides. The tests of `../node` send them over a transport that shows them. */

test('throws OutcomeUnknownError after a 407, which fetch hides', async () => {
  const service = await startService(407, { message: 'Proxy' });
  const client = service.client({ maxRetries: 2 });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ cause: { name: 'ConnectionError', outcome: 'unknown' } });
  expect(service.requests).toHaveLength(1);
  const onVerify = await catchError(client.verify(REFERENCE, { maxRetries: 0 }));
  expect(onVerify).toBeInstanceOf(ConnectionError);
  expect(onVerify).toMatchObject({ outcome: null });
});

test('reports unknown after a 205, whose body fetch hides', async () => {
  const service = await startService((response) => {
    response.socket?.end(rawResponse);
  });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toHaveProperty('cause', expect.any(UnexpectedResponseError));
  const read = await catchError(service.client().verify(REFERENCE));
  expect(read).toBeInstanceOf(UnexpectedResponseError);
  expect(read).toMatchObject({ retryable: true, outcome: null });
});

const body = JSON.stringify(successBodies.chargeMobileMoney());
const rawResponse = `HTTP/1.1 205 Reset Content\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
