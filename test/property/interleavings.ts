import fc from 'fast-check';

/** What the service makes of a request: a charge or none, and what is heard of it. */
const answers = [
  'made',
  'made, answer lost',
  'made, 500',
  'made, another amount',
  'made, never answered',
  'refused',
  'rate limited',
  'no connection',
] as const;
export type Answer = (typeof answers)[number];

/** A fault of the database in one of its steps: before it was done, or after. */
type StoreFault = 'before' | 'after' | 'none';

export type Command =
  | {
      does: 'call';
      key: string;
      answer: Answer;
      /** How long the request is on its way, and how long its answer. */
      latency: number;
      /** The process is killed at a step of its journal. */
      death: { step: 'claim' | 'complete'; side: 'before' | 'after' } | null;
      /** One for each step of the database in this call. */
      faults: StoreFault[];
      abortAfter: number | null;
    }
  | { does: 'resolve'; key: string; says: 'truth' | 'not_charged' | 'TXN-wrong' }
  | { does: 'pass'; time: number };

const key = fc.constantFrom('order-1', 'order-2');

const call = fc.record({
  does: fc.constant('call' as const),
  key,
  answer: fc.constantFrom<Answer[]>('made', 'made', ...answers),
  latency: fc.constantFrom(0, 100, 4_000, 12_000),
  death: fc.option(
    fc.record({ step: fc.constantFrom('claim', 'complete'), side: fc.constantFrom('before', 'after') }),
    { freq: 4 },
  ),
  faults: fc.array(fc.constantFrom<StoreFault[]>('none', 'none', 'none', 'before', 'after'), {
    maxLength: 6,
  }),
  abortAfter: fc.option(fc.constantFrom(0, 100, 3_000), { freq: 5 }),
});

const resolve = fc.record({
  does: fc.constant('resolve' as const),
  key,
  says: fc.constantFrom('truth', 'not_charged', 'TXN-wrong'),
});

const pass = fc.record({
  does: fc.constant('pass' as const),
  time: fc.constantFrom(50, 1_000, 6_000, 15_000),
});

export const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof({ weight: 6, arbitrary: call }, { weight: 2, arbitrary: resolve }, { weight: 3, arbitrary: pass }),
  { minLength: 5, maxLength: 20, size: 'max' },
);
