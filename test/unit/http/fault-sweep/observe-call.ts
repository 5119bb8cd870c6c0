import { PaymentsClient, type PaymentsClientOptions } from '../../../../src/index.ts';
import { PATIENCE } from '../../../helpers/patience.ts';
import { API_KEY } from '../../../helpers/service.ts';
import { flushEventLoop, startTcpService, type TcpService } from '../../../helpers/tcp-service.ts';
import { transportFor } from '../../../helpers/transport-under-test.ts';
import { REFERENCE, type Subject, verify } from './points.ts';
import type { ObservedCall } from './truth.ts';

/** The timeout of each attempt, in milliseconds. */
export const TIMEOUT = 10_000;

/** Taken before a sweep makes the clock stand still. */
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis;

export type CallOptions = Pick<PaymentsClientOptions, 'maxRetries' | 'timeout' | 'onEvent'>;

export function startServiceFor(subject: Subject): Promise<TcpService> {
  return startTcpService((head) => (head.startsWith('GET ') ? verify : subject).responses['200']);
}

function clientOf({ baseUrl }: { baseUrl: string }, options: PaymentsClientOptions): PaymentsClient {
  return new PaymentsClient({ apiKey: API_KEY, baseUrl, timeout: TIMEOUT, ...transportFor(), ...options });
}

/** One good request, which leaves an open connection behind. */
export async function warmUp(service: TcpService): Promise<void> {
  await clientOf(service, {}).verify(REFERENCE);
  await flushEventLoop();
}

/** Makes the call. Returns how it ended and what the service created. */
export async function observeCall(
  subject: Subject,
  service: Pick<TcpService, 'baseUrl' | 'created'>,
  options: CallOptions,
): Promise<ObservedCall> {
  const end = await endOf(subject.call(clientOf(service, options)));
  return { end, created: service.created };
}

function endOf(call: Promise<unknown>): Promise<ObservedCall['end']> {
  return new Promise((resolve, reject) => {
    const timer = setRealTimeout(() => reject(new Error('The call does not end.')), PATIENCE);
    call
      .then(
        (value) => resolve({ value }),
        (error: unknown) => resolve({ error }),
      )
      .finally(() => clearRealTimeout(timer));
  });
}
