/** Breadth first through all states, each visited once. What breaks is printed as the shortest sequence of steps that leads there. */

import { findBroken, findBrokenEnd, forgetJudged } from './judge.ts';
import { hashParts, toPart } from './parts.ts';
import { type LedgerRecord, MIN_SLOW_CHECKS, type Payment } from './rules.ts';
import { listSteps } from './steps.ts';
import { type Config, createWorld, NOW, type World } from './world.ts';

/** What a search found. */
export interface Result {
  readonly states: number;
  readonly depth: number;
  readonly seconds: number;
  /** Whether every state was visited. */
  readonly isClosed: boolean;
  /** What is broken, and the steps that lead there. */
  readonly broken?: { readonly what: string; readonly steps: readonly string[] };
  /** How often each kind of step was taken. */
  readonly taken: ReadonlyMap<string, number>;
}

/** Takes out of a record what changes no conclusion, so that states which differ in nothing else are one. */
function simplify(record: LedgerRecord): LedgerRecord {
  const { telling: _, ...rest } = record;
  const places = [...new Set(rest.payments.map(({ pressed }) => pressed))].filter((place) => place > 0);
  places.sort((one, other) => one - other);
  return {
    ...rest,
    presses: places.length,
    payments: rest.payments.map((payment) => simplifyPayment(payment, places)),
  };
}

function simplifyPayment({ pace, charge, ...payment }: Payment, places: readonly number[]): Payment {
  const { notifiedAt, slow = 0 } = pace ?? {};
  const simplePace = {
    nextAt: NOW,
    slow: slow > 0 ? MIN_SLOW_CHECKS : 0,
    ...(notifiedAt !== undefined && { notifiedAt }),
  };
  return {
    ...payment,
    charge: charge.is === 'sending' && charge.until <= NOW ? { ...charge, until: NOW } : charge,
    attempts: 0,
    pressed: payment.pressed === 0 ? 0 : places.indexOf(payment.pressed) + 1,
    resolutions: payment.resolutions.map((entry) => ({ ...entry, at: 0, by: '', reason: '' })),
    ...(pace && { pace: simplePace }),
  };
}

const simplified = new WeakMap<LedgerRecord, LedgerRecord>();

function simplifyOnce(record: LedgerRecord): LedgerRecord {
  const known = simplified.get(record);
  if (known) return known;
  const simple = simplify(record);
  simplified.set(record, simple);
  simplified.set(simple, simple);
  return simple;
}

/** What is the same in each payment of a search is left out of the text. */
const CONSTANT = new Set([
  'schedule',
  'finalStatuses',
  'fingerprint',
  'currency',
  'requestIds',
  'format',
  'service',
]);
const toText = (record: LedgerRecord) =>
  JSON.stringify(record, (key, value) => (CONSTANT.has(key) ? undefined : value));

const sortParts = <Item extends object | null>(items: Item[]) =>
  items.sort((one, other) => toPart(one).shape - toPart(other).shape);

/** Returns what tells a state from others: the same for all that differ only in names, or in which process is which. */
function describe(world: World): { state: number; core: number } {
  world.records = world.records.map((record) => record && simplifyOnce(record));
  sortParts(world.processes);
  sortParts(world.persons);
  const { records, claims, charges, flights, processes, persons, budget, asked, heard } = world;
  const core = [
    records.map((record) => toPart(record, () => (record ? toText(record) : ''))),
    [toPart(claims)],
    charges.map((charge) => toPart(charge)),
  ];
  const rest = [flights, processes, persons, heard].map((items) => items.map((item) => toPart(item)));
  return { core: hashParts(core), state: hashParts([...core, ...rest, [toPart(budget), toPart(asked)]]) };
}

/** Visits every state of a world, until one is broken or `maxStates` were visited. */
export function explore(config: Config): Result {
  forgetJudged();
  const startedAt = performance.now();
  const seen = new Set<number>();
  const parents: number[] = [];
  const labels: string[] = [];
  const taken = new Map<string, number>();
  const visit = (world: World, parent: number, label: string): { id: number; core: number } | undefined => {
    const { state, core } = describe(world);
    if (seen.has(state)) return undefined;
    seen.add(state);
    parents.push(parent);
    labels.push(label);
    return { id: parents.length - 1, core };
  };
  const traceTo = (id: number, last: readonly string[] = []): string[] => {
    const steps = [...last];
    for (let at = id; at > 0; at = parents[at] ?? 0) steps.unshift(labels[at] ?? '');
    return steps;
  };
  const end = (depth: number, isClosed: boolean, broken?: Result['broken']): Result => ({
    states: parents.length,
    depth,
    seconds: (performance.now() - startedAt) / 1000,
    isClosed,
    taken,
    ...(broken && { broken }),
  });

  const judge = (after: World, id: number, core: number): Result['broken'] | undefined => {
    const what = findBroken(after, config) || findBrokenEnd(after, config, core);
    return what ? { what, steps: traceTo(id) } : undefined;
  };
  /** Visits what follows from a state. Returns what is broken there. */
  const expand = ({ world, id }: Node, next: Node[]): Result['broken'] | undefined => {
    for (const { label, world: after, broken: what } of listSteps(world, config)) {
      const kind = label.replace(/TXN-\d|\{.*\}|[AB]\/?\d*|\d/g, '');
      taken.set(kind, (taken.get(kind) ?? 0) + 1);
      if (what) return { what, steps: traceTo(id, [label]) };
      const visited = visit(after, id, label);
      if (!visited) continue;
      const broken = judge(after, visited.id, visited.core);
      if (broken) return broken;
      next.push({ world: after, id: visited.id });
    }
    return undefined;
  };

  const first = createWorld(config);
  visit(first, -1, '');
  let level: Node[] = [{ world: first, id: 0 }];
  for (let depth = 1; level.length > 0; depth++) {
    const next: Node[] = [];
    for (const node of level) {
      const broken = expand(node, next);
      if (broken) return end(depth, false, broken);
      if (parents.length > config.maxStates) return end(depth, false);
    }
    if (next.length === 0) return end(depth, true);
    level = next;
  }
  return end(0, true);
}

/** A state that was visited. */
interface Node {
  readonly world: World;
  readonly id: number;
}
