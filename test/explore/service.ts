/** The service, as freely as its documentation leaves it. */

import type * as rules from './rules.ts';
import {
  type Answer,
  type Config,
  type Found,
  NOW,
  type ServiceCharge,
  toPrice,
  type World,
} from './world.ts';
import type { StepContext } from './writes.ts';

export const toFinding = ({ status, other }: Pick<ServiceCharge, 'status' | 'other'>): rules.Finding =>
  status === '404'
    ? { is: 'not_found' }
    : { is: 'answered', status, paid_at: null, ...(other && { other: toPrice(9) }) };

export const times = (askedAt: number) => ({ askedAt, now: NOW, random: 0.5 });

/** Lets a sweep or a press ask the service, which answers as it likes. */
export function answerCheck(world: World, config: Config, ref: string, status: string): Found {
  const index = world.charges.findIndex((charge) => charge.ref === ref);
  const charge = world.charges[index];
  if (status === '404' || !charge) return { finding: { is: 'not_found' }, askedAt: NOW };
  const isEnd = status !== 'success' && config.finalStatuses.includes(status);
  const next: ServiceCharge = {
    ...charge,
    status,
    ...(config.budget.weeks > 0 && { askedAt: NOW }),
    ...(isEnd && { ended: true }),
    ...(charge.status === 'success' && status !== 'success' && { reversed: true }),
  };
  world.charges[index] = next;
  return { finding: toFinding(next), askedAt: NOW };
}

export const isUnpaidAtService = ({ status, reversed }: ServiceCharge) => status !== 'success' && !reversed;
/** What the service can say of a transaction. A success stays one. */
export function listAnswers(world: World, config: Config, ref: string): readonly string[] {
  const charge = world.charges.find((item) => item.ref === ref);
  const more = config.notFound ? ['404'] : [];
  if (!charge) return more;
  return charge.status === 'success' ? ['success', ...more] : [...config.statuses, ...more];
}
/** The service gets a request, and does with it as it likes. */
export function listServiceSteps({ world, config, go }: StepContext, flightIndex: number): void {
  const flight = world.flights[flightIndex];
  if (!flight) return;
  const { order, attempt, ask } = flight;
  const sender = world.processes.findIndex(
    (process) => process?.at === 'sent' && process.attempt === attempt,
  );
  const answer = (next: World, value: Answer) => {
    next.flights.splice(flightIndex, 1);
    if (sender >= 0) next.processes[sender] = { at: 'answered', order, ask, attempt, answer: value };
    return undefined;
  };
  const make = (next: World, other: boolean) => {
    const ref = `TXN-${next.charges.length + 1}`;
    const { excused } = flight;
    next.charges.push({
      ref,
      order,
      attempt,
      ask,
      status: 'pending',
      ...(other && { other }),
      ...(excused && { excused }),
    });
    return ref;
  };
  if (world.charges.length < config.charges) {
    go('the service makes the charge', (next) => answer(next, { is: 'made', ref: make(next, false) }));
    if (config.named && sender >= 0)
      go('the service makes the charge, and its error names it', (next) =>
        answer(next, { is: 'unknown', ref: make(next, false) }),
      );
    if (config.otherAmount)
      go('the service makes the charge with another amount', (next) =>
        answer(next, { is: 'made', ref: make(next, true), other: true }),
      );
  }
  go('the service rejects the charge', (next) => answer(next, { is: 'none' }));
  if (!config.duplicates || sender < 0) return;
  world.charges.forEach((charge, index) => {
    if (charge.ask.phone !== ask.phone || charge.ask.price !== ask.price) return;
    go(`the service answers with ${charge.ref} again`, (next) => {
      next.charges[index] = { ...charge, repeated: true };
      return answer(next, { is: 'made', ref: charge.ref });
    });
  });
}
export const toMade = (ref: string, isClaimed: boolean, other = false): rules.MadeCharge => ({
  is: 'made',
  result: { reference: ref, checkout_url: 'page' },
  isClaimed,
  ...(other && { other: toPrice(9) }),
});
