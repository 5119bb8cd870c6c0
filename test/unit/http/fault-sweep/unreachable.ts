import { setTimeout as sleep } from 'node:timers/promises';
import { startHungListener } from '../../../helpers/hung-listener.ts';
import { type CloseKind, closeKinds } from '../../../helpers/tcp-service.ts';
import { type CallOptions, observeCall, startServiceFor, warmUp } from './observe-call.ts';
import type { Subject } from './points.ts';
import { type ObservedCall, untruths } from './truth.ts';

const TIMES = 12;
/** The timeout of calls that nothing else ends, in milliseconds. */
const SHORT = 200;

type Place = (subject: Subject) => Promise<ObservedCall[]>;

/** There is no FIN for a connection that was never accepted: where the process dies, the kernel resets it. */
const places: Record<string, Place> = {
  'nothing listens': (subject) => many(() => refused(subject)),
  'connected, never accepted, RST': (subject) => neverAccepted(subject, {}, true),
  'connected, never accepted, silence': (subject) => neverAccepted(subject, { timeout: SHORT }, false),
  'not even connected, silence': neverConnected,
};
for (const manner of closeKinds) {
  places[`stops between two calls, ${manner}`] = (subject) => many(() => stopped(subject, manner));
}

/** The service goes away before it accepts anything. */
export async function runUnreachable(subject: Subject): Promise<string[]> {
  const found = Object.entries(places).map(async ([place, attempt]) => {
    const all = await attempt(subject);
    return all.flatMap((observed) => untruths(subject, observed).map((lie) => `${place}: ${lie}`));
  });
  return (await Promise.all(found)).flat();
}

function many(attempt: () => Promise<ObservedCall>): Promise<ObservedCall[]> {
  return Promise.all(Array.from({ length: TIMES }, attempt));
}

async function refused(subject: Subject): Promise<ObservedCall> {
  const service = await startServiceFor(subject);
  await service.close();
  const observed = await observeCall(subject, service, {});
  await service.stop();
  return observed;
}

async function stopped(subject: Subject, manner: CloseKind): Promise<ObservedCall> {
  const service = await startServiceFor(subject);
  await warmUp(service);
  await service.close();
  service.leave(manner);
  const observed = await observeCall(subject, service, manner === 'silence' ? { timeout: SHORT } : {});
  await service.stop();
  return observed;
}

async function neverAccepted(subject: Subject, options: CallOptions, dies: boolean): Promise<ObservedCall[]> {
  const { baseUrl, kill } = await startHungListener(2 * TIMES);
  const calls = many(() => observeCall(subject, { baseUrl, created: 0 }, { ...options, maxRetries: 0 }));
  await (dies ? sleep(400) : calls);
  await kill();
  return calls;
}

async function neverConnected(subject: Subject): Promise<ObservedCall[]> {
  const { baseUrl, fill, kill } = await startHungListener(1);
  await fill();
  const options = { timeout: SHORT, maxRetries: 0 };
  const calls = await many(() => observeCall(subject, { baseUrl, created: 0 }, options));
  await kill();
  return calls;
}
