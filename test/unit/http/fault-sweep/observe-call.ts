import { PaymentsClient, type PaymentsClientOptions, type PaymentsEvent } from '../../../../src/index.ts';
import { API_KEY } from '../../../helpers/service.ts';
import { flushEventLoop, startTcpService, type TcpService } from '../../../helpers/tcp-service.ts';
import { transportFor } from '../../../helpers/transport-under-test.ts';
import { REFERENCE, type Subject, verify } from './points.ts';
import type { ObservedCall } from './truth.ts';

/** The timeout in milliseconds of calls that must time out, and of all others. */
export const SHORT = 200;
export const AMPLE = 10_000;
/** Other tests keep the machine busy, so a timer can fire late. */
const SLACK = 15_000;

export type CallOptions = Pick<PaymentsClientOptions, 'maxRetries' | 'timeout'>;

export function startServiceFor(subject: Subject): Promise<TcpService> {
  return startTcpService((head) => (head.startsWith('GET ') ? verify : subject).responses['200']);
}

function clientOf({ baseUrl }: { baseUrl: string }, options: PaymentsClientOptions): PaymentsClient {
  return new PaymentsClient({ apiKey: API_KEY, baseUrl, ...transportFor(), ...options });
}

/** One good request, which leaves an open connection behind. */
export async function warmUp(service: TcpService): Promise<void> {
  await clientOf(service, { timeout: AMPLE }).verify(REFERENCE);
  await flushEventLoop();
}

/** Makes the call. Returns how it ended, its duration and what the service created. */
export async function observeCall(
  subject: Subject,
  service: Pick<TcpService, 'baseUrl' | 'created'>,
  options: CallOptions,
): Promise<ObservedCall> {
  const { timeout = AMPLE } = options;
  let allowed = SLACK;
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'request') allowed += timeout;
    if (event.type === 'retry') allowed += event.delay;
  };
  const client = clientOf(service, { ...options, timeout, onEvent });
  const startedAt = performance.now();
  const end = await endOf(subject.call(client), 5 * timeout + 2 * SLACK);
  return { end, created: service.created, elapsed: performance.now() - startedAt, allowed };
}

/** A call that does not end fails the sweep, but must not stop it. */
function endOf(call: Promise<unknown>, limit: number): Promise<ObservedCall['end']> {
  return new Promise((resolve) => {
    const giveUp = () => resolve({ error: new Error(`no end in ${limit} ms`) });
    const timer = setTimeout(giveUp, limit);
    call
      .then(
        (value) => resolve({ value }),
        (error: unknown) => resolve({ error }),
      )
      .finally(() => clearTimeout(timer));
  });
}
