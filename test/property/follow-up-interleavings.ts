import fc from 'fast-check';

/** A fault of the database at one of its steps: before it is done, or after. */
type Fault = 'before' | 'after' | 'none';

/** What happens next to payments that are followed. */
export type FollowUpCommand =
  | {
      does: 'charge';
      /** The final status, `pending` for ever, or a paid charge whose response is lost. */
      outcome: 'success' | 'failed' | 'abandoned' | 'pending' | 'lost';
      /** Milliseconds until the status is final. */
      finalAfter: number;
      /** For how long the service returns another amount, in milliseconds. */
      wrongFor: number;
    }
  | {
      does: 'start';
      /** How long the service takes to respond to this process, and how long a handler takes, in milliseconds. */
      latency: number;
      handlerTime: number;
      /** Whether each call of a handler throws, in turn. */
      throws: boolean[];
      /** One for each step of the database. */
      faults: Fault[];
      /** The process is killed at a step of the database. */
      death: { step: number; side: 'before' | 'after' } | null;
      stopAfter: number | null;
    }
  | { does: 'notify' | 'resolve'; index: number }
  | { does: 'kill'; index: number }
  | { does: 'pass'; time: number };

const charge = fc.record({
  does: fc.constant('charge' as const),
  outcome: fc.constantFrom('success', 'success', 'failed', 'abandoned', 'pending', 'lost'),
  finalAfter: fc.constantFrom(0, 10_000, 30_000, 80_000),
  wrongFor: fc.constantFrom(0, 0, 0, 0, 20_000, Number.POSITIVE_INFINITY),
});

const fault = fc.constantFrom<Fault[]>('none', 'none', 'none', 'none', 'before', 'after');

const start = fc.record({
  does: fc.constant('start' as const),
  latency: fc.constantFrom(0, 300, 4_000, 15_000),
  handlerTime: fc.constantFrom(0, 0, 500, 25_000),
  throws: fc.array(fc.boolean(), { maxLength: 3 }),
  faults: fc.oneof(fc.constant<Fault[]>([]), fc.array(fault, { maxLength: 12 })),
  death: fc.option(
    fc.record({ step: fc.integer({ min: 0, max: 25 }), side: fc.constantFrom('before', 'after') }),
    { freq: 2 },
  ),
  stopAfter: fc.option(fc.constantFrom(100, 5_000, 20_000), { freq: 4 }),
});

const onOne = fc.record({ does: fc.constantFrom('notify', 'resolve', 'kill'), index: fc.nat(10) });

const pass = fc.record({
  does: fc.constant('pass' as const),
  time: fc.constantFrom(500, 4_000, 10_000, 45_000),
});

export const followUpCommands: fc.Arbitrary<FollowUpCommand[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: charge },
    { weight: 3, arbitrary: start },
    { weight: 3, arbitrary: onOne },
    { weight: 5, arbitrary: pass },
  ),
  { minLength: 6, maxLength: 25, size: 'max' },
);

/** A process without faults, which ends what others have left. */
export const healthyProcess: FollowUpCommand & { does: 'start' } = {
  does: 'start',
  latency: 0,
  handlerTime: 0,
  throws: [],
  faults: [],
  death: null,
  stopAfter: null,
};
