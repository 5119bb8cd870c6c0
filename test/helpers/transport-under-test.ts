import type { PaymentsClientOptions, Transport } from '../../src/index.ts';

let underTest: Transport | undefined;

/** Makes the clients of this test file use this transport, unless they have their own `fetch`. */
export function testWithTransport(transport: Transport): void {
  underTest = transport;
}

export function transportFor({
  fetch,
}: PaymentsClientOptions = {}): Pick<PaymentsClientOptions, 'transport'> {
  return fetch ? {} : { transport: underTest };
}
