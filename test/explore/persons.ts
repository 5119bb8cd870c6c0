/** Persons look at what is listed, and decide: by what is true, or not. */

import { claimReference, isConfirmed, isHeldByOther, takeVoid } from './claims.ts';
import type { Payment } from './rules.ts';
import * as rules from './rules.ts';
import { toMade } from './service.ts';
import { type Config, NOW, newId, type Person, type ServiceCharge, type World } from './world.ts';
import { type StepContext, write } from './writes.ts';

export const reviewer = (id: string, sight: string) => ({
  id,
  by: 'person',
  reason: 'found',
  sight,
  now: NOW,
});
/** What a person decided is not true: what comes of these charges is not the shop's to answer for. */
function excuse(world: World, payment: Payment): void {
  const reference = rules.referenceOf(payment);
  world.charges = world.charges.map((charge) =>
    charge.attempt === payment.attempt || charge.ref === reference ? { ...charge, excused: true } : charge,
  );
  world.flights = world.flights.map((flight) =>
    flight.attempt === payment.attempt ? { ...flight, excused: true } : flight,
  );
}
/** What a person who does nothing can look at, and decide. */
export function listLooks({ world, config, go }: StepContext, index: number): void {
  for (const [order, name] of config.orders.entries())
    for (const { number, decision, ref } of listDecisions(world, config, order))
      go(`a person looks at ${name}/${number}: ${decision} ${ref ?? ''}`, (next) => {
        const record = next.records[order];
        if (!record) return undefined;
        const attempt = record.payments[number - 1]?.attempt ?? '';
        const sight = rules.getSight(record, number, NOW);
        const charge = record.payments[number - 1]?.charge;
        const shared = charge?.is === 'unknown' && charge.why === 'shared_reference' && charge.reference;
        const seen = { sight, attempt, ...(shared && { shared }) };
        const look = { order, number, decision, id: newId(next), ...seen, step: 'decide' } as const;
        next.budget = { ...next.budget, decisions: next.budget.decisions - 1 };
        next.persons[index] = ref === undefined ? look : { ...look, ref };
        return undefined;
      });
}

type Look = Pick<Person, 'number' | 'decision' | 'ref'>;

function listDecisions(world: World, config: Config, order: number): Look[] {
  const record = world.records[order] ?? null;
  if (!record) return [];
  const looks: Look[] = record.payments.flatMap((payment, position) => {
    const number = position + 1;
    const isCharged = world.charges.some(({ attempt }) => attempt === payment.attempt);
    const references = listReferences(world, config, payment);
    const fitting = rules
      .listFitting(record, number, NOW)
      .filter((decision) => config.wrong || decision !== 'not_charged' || !isCharged);
    return [
      ...references.map(({ ref }): Look => ({ number, decision: 'reference', ref })),
      ...fitting.map((decision): Look => ({ number, decision })),
      ...(config.takeBack && rules.findDecision(payment) ? [{ number, decision: 'take_back' } as const] : []),
    ];
  });
  const added = config.add ? world.charges.filter(({ ref }) => !rules.namesReference(record, ref)) : [];
  return [...looks, ...added.map(({ ref }): Look => ({ number: 0, decision: 'add', ref }))];
}

/** The transactions that a person could take for that of an unresolved payment. */
function listReferences({ charges }: World, { wrong }: Config, payment: Payment): readonly ServiceCharge[] {
  if (!rules.isUnresolved(payment, NOW)) return [];
  const price = Number.parseInt(payment.amount, 10);
  return charges.filter((charge) =>
    wrong ? charge.ask.price === price : charge.attempt === payment.attempt,
  );
}

export function listPersonSteps({ world, config, go }: StepContext, person: Person, index: number): void {
  const { order, decision, id, sight, ref = '', step } = person;
  const set = (next: World, value: Person | null) => {
    next.persons[index] = value;
  };
  const record = world.records[order] ?? null;
  go('the person goes away', (next) => {
    set(next, null);
    return undefined;
  });
  const claim = world.claims[ref];
  const isHeld = isHeldByOther(world, ref, order);
  switch (step) {
    case 'claim':
      go(`the person claims ${ref}`, (next) => {
        const owned = claimReference(next, ref, order);
        const isTaken = !owned && !isHeld && claim !== undefined;
        set(
          next,
          isTaken
            ? { ...person, step: 'take', version: claim.version }
            : { ...person, step: 'confirm', owned },
        );
        return undefined;
      });
      return;
    case 'take':
      go(`the person takes the void claim of ${ref}`, (next) => {
        const { version: _, ...rest } = person;
        const isSame = claim !== undefined && claim.version === person.version;
        if (isSame) next.claims[ref] = { owner: order, version: (claim.version + 1) % 4 };
        set(next, isSame ? { ...rest, step: 'confirm', owned: true } : { ...rest, step: 'claim' });
        return undefined;
      });
      return;
    case 'confirm':
      go(`the person confirms ${ref}`, (next) => {
        set(next, null);
        const charge = next.charges.find((item) => item.ref === ref);
        const { shared } = person;
        // What another order has need not be kept. If that claim is void, it is taken over.
        const isNamedElsewhere =
          shared !== undefined && !takeVoid(next, shared, order) && !claimReference(next, shared, order);
        const made = { ...toMade(ref, person.owned === true, charge?.other), isNamedElsewhere };
        const after = rules.confirmReference(record, made, reviewer(id, sight));
        const named = isNamedElsewhere ? [] : (record?.payments.map(rules.referenceOf) ?? []);
        const dropped = named.find(
          (reference) => reference && !(after && rules.namesReference(after, reference)),
        );
        if (dropped && dropped !== ref) return `a response named ${dropped}, and no payment has it any more`;
        return write(next, config, order, after);
      });
      return;
    case 'decide':
      go(`the person writes ${decision} ${ref}`, (next) => {
        set(next, null);
        return decide(next, config, person, isHeld, (value) => set(next, value));
      });
  }
}

function decide(
  next: World,
  config: Config,
  person: Person,
  isHeld: boolean,
  set: (value: Person | null) => void,
): string | undefined {
  const { order, number, decision, id, sight, attempt, ref = '' } = person;
  const record = next.records[order] ?? null;
  const payment = record?.payments[number - 1];
  const isRefuted = decision === 'not_charged' && isConfirmed(next, record, order, number);
  const resolved = applyDecision(next, person, isHeld);
  if (resolved?.is !== 'done') return undefined;
  if (isRefuted) return 'not charged, although the service knows the transaction that was named';
  if (decision === 'reference' || decision === 'add') set({ ...person, step: 'claim', id, sight });
  const broken = write(next, config, order, resolved.record);
  const charge = next.charges.find((item) => item.ref === ref);
  const excuseCharge = () => {
    next.charges = next.charges.map((item) => (item.ref === ref ? { ...item, excused: true } : item));
  };
  if (decision === 'add' && charge?.order !== order) excuseCharge();
  // A decision about what the person never saw is no excuse.
  if (!payment || payment.attempt !== attempt) return broken;
  const isOnItsWay = [...next.charges, ...next.flights].some((item) => item.attempt === attempt);
  if ((decision === 'not_charged' && isOnItsWay) || decision === 'closed') excuse(next, payment);
  if (decision === 'reference' && charge?.attempt !== attempt) {
    excuseCharge();
    excuse(next, payment);
  }
  return broken;
}

function applyDecision(
  next: World,
  { order, number, decision, id, sight, ref = '' }: Person,
  isHeld: boolean,
): rules.Resolved | undefined {
  const record = next.records[order] ?? null;
  const given = reviewer(id, sight);
  switch (decision) {
    case 'reference':
      return isHeld ? undefined : rules.nameReference(record, number, ref, given);
    case 'add':
      return isHeld || !record ? undefined : rules.addTransaction(record, ref, given);
    case 'take_back':
      return rules.takeBack(record, number, given);
    default:
      return rules.resolve(record, number, decision, given, isConfirmed(next, record, order, number));
  }
}
