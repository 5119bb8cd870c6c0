import type { PaymentsClientOptions, Transport } from '../../src/index.ts';

let underTest: Transport | undefined;

/** From now on the clients of this test file send through this one, where they are not given a `fetch`. */
export function testOver(transport: Transport): void {
  underTest = transport;
}

export function transportFor({
  fetch,
}: PaymentsClientOptions = {}): Pick<PaymentsClientOptions, 'transport'> {
  return fetch ? {} : { transport: underTest };
}
