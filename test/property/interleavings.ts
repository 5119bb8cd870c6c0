import fc from 'fast-check';

/** Whether the service makes a charge, and what comes back. */
const responses = [
  'made',
  'made, response lost',
  'made, 500',
  'made, another amount',
  'made, no response',
  'rejected',
  'rate limited',
  'no connection',
] as const;
export type ServiceResponse = (typeof responses)[number];

/**
 * What the database does at one of its steps: it fails before the step is done or after, does it long after its client gave up, never
 * responds, or says of a write that another one came first.
 */
export const storeFaults = ['before', 'after', 'late', 'hangs', 'conflicts'] as const;
export type StoreFault = (typeof storeFaults)[number] | 'none';

export type Command =
  | {
      does: 'call';
      key: string;
      response: ServiceResponse;
      /** How long the request takes to arrive, and how long its response, in milliseconds. */
      latency: number;
      /** The process is killed at a step of its journal. */
      death: { step: 'claim' | 'complete'; side: 'before' | 'after' } | null;
      /** One for each step of the database in this call. */
      faults: StoreFault[];
      abortAfter: number | null;
    }
  | { does: 'resolve'; key: string; as: 'truth' | 'not_charged' | 'TXN-wrong' }
  | { does: 'pass'; time: number };

const key = fc.constantFrom('order-1', 'order-2');

const call = fc.record({
  does: fc.constant('call' as const),
  key,
  response: fc.constantFrom<ServiceResponse[]>('made', 'made', ...responses),
  latency: fc.constantFrom(0, 100, 4_000, 12_000),
  death: fc.option(
    fc.record({ step: fc.constantFrom('claim', 'complete'), side: fc.constantFrom('before', 'after') }),
    { freq: 4 },
  ),
  faults: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant('none' as const) },
      { weight: 3, arbitrary: fc.constantFrom<StoreFault[]>(...storeFaults) },
    ),
    { maxLength: 8 },
  ),
  abortAfter: fc.option(fc.constantFrom(0, 100, 3_000), { freq: 5 }),
});

const resolve = fc.record({
  does: fc.constant('resolve' as const),
  key,
  as: fc.constantFrom('truth', 'not_charged', 'TXN-wrong'),
});

const pass = fc.record({
  does: fc.constant('pass' as const),
  time: fc.constantFrom(50, 1_000, 6_000, 15_000),
});

export const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof({ weight: 6, arbitrary: call }, { weight: 2, arbitrary: resolve }, { weight: 3, arbitrary: pass }),
  { minLength: 5, maxLength: 20, size: 'max' },
);
