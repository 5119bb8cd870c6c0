import { assert } from './assert.ts';
import {
  type ConformanceContext,
  type ConformanceTest,
  charge,
  complete,
  expectClaim,
  expectCompletion,
  expectRejection,
  expectSingleWinner,
  expectState,
  expireClaim,
  type Handle,
  note,
  otherInput,
  recordUnknown,
  SHORT_LEASE,
} from './context.ts';

/** What a person found out about an unresolved key. */
export const resolutionCases: readonly ConformanceTest[] = [
  {
    name: 'returns the reference that a key was resolved with',
    async test(context) {
      for (const key of [await createUnknownKey(context), await createExpiredKey(context)]) {
        const journal = await context.openHandle({ lease: SHORT_LEASE });
        const other = await context.openHandle();
        const reference = context.newReference();
        await journal.resolve(key, { reference }, note);
        await journal.resolve(key, { reference }, note);
        const { result } = await expectState(other, key, 'completed', 'its charge was found');
        assert(result.reference === reference, `the resolved reference is ${result.reference}`);
      }
    },
  },
  {
    name: 'resolves a checkout payment with its checkout_url',
    async test(context) {
      const journal = await context.openHandle();
      const key = context.newKey();
      const payment = { ...charge, operation: 'initialize' } as const;
      const claim = await expectClaim(journal, key, payment);
      await expectCompletion(journal, claim, { state: 'unknown' });
      const reference = context.newReference();
      const checkout_url = `https://pay.example/checkout/${reference}`;
      await journal.resolve(key, { reference, checkout_url }, note);
      const { result } = await expectState(journal, key, 'completed', 'it was resolved', payment);
      const address = 'checkout_url' in result ? result.checkout_url : undefined;
      assert(address === checkout_url, `the resolved checkout_url is ${address}`);
    },
  },
  {
    name: 'gives one new claim after not_charged, with any input',
    async test(context) {
      const handles = await context.openHandles(4);
      const resolver = await context.openHandle({ lease: SHORT_LEASE });
      for (const intent of [charge, otherInput]) {
        for (const key of [await createUnknownKey(context), await createExpiredKey(context)]) {
          await resolver.resolve(key, 'not_charged', note);
          await resolver.resolve(key, 'not_charged', note);
          await expectSingleWinner(handles, key, 'a key that was resolved as not_charged', intent);
        }
      }
    },
  },
  {
    name: 'refuses to resolve a charge in progress',
    async test(context) {
      const [owner, other] = [await context.openHandle(), await context.openHandle()];
      const key = context.newKey();
      const claim = await expectClaim(owner, key);
      for (const resolution of [{ reference: context.newReference() }, 'not_charged'] as const) {
        const error = await expectRejection(other.resolve(key, resolution, note), 'a process has the claim');
        assert(error.retryable, 'the error is not retryable, although the same resolution can succeed later');
      }
      await expectState(other, key, 'in_progress', 'its resolution was refused');
      assert((await owner.renew(claim)) !== null, 'a refused resolution took the claim from its owner');
    },
  },
  {
    name: 'refuses to resolve a key without a record',
    async test(context) {
      const journal = await context.openHandle();
      const key = context.newKey();
      await expectClaim(journal, context.newKey());
      for (const resolution of [{ reference: context.newReference() }, 'not_charged'] as const) {
        await expectRejection(journal.resolve(key, resolution, note), 'the key has no record');
      }
      assert((await journal.read(key)) === null, 'a refused resolution created a record');
    },
  },
  {
    name: 'refuses a resolution that contradicts a recorded result',
    async test(context) {
      const journal = await context.openHandle();
      const key = context.newKey();
      const reference = context.newReference();
      await complete(context, journal, key, { state: 'completed', result: { reference } });
      await journal.resolve(key, { reference }, note);
      for (const resolution of [{ reference: context.newReference() }, 'not_charged'] as const) {
        await expectRejection(journal.resolve(key, resolution, note), 'it contradicts the recorded result');
      }
      const { result } = await expectState(journal, key, 'completed', 'its result was recorded');
      assert(result.reference === reference, 'a refused resolution changed the record');
    },
  },
  {
    name: 'accepts one of many different resolutions made at once',
    async test(context) {
      const handles = await context.openHandles(4);
      const key = await createUnknownKey(context);
      const references = [...handles, ...handles].map(() => context.newReference());
      const results = await Promise.allSettled(
        references.map((reference, index) =>
          handleAt(handles, index).resolve(key, { reference }, { ...note, resolutionsSeen: 0 }),
        ),
      );
      const accepted = references.filter((_, index) => results[index]?.status === 'fulfilled');
      assert(accepted.length === 1, `${accepted.length} different resolutions were accepted, instead of one`);
      const { result } = await expectState(handleAt(handles, 0), key, 'completed', 'it was resolved');
      assert(result.reference === accepted[0], 'the record is not that of the accepted resolution');
      const entry = await handleAt(handles, 1).read(key);
      const count = entry?.resolutions.length;
      assert(count === 1, `one resolution was accepted, and ${count} are in the history`);
    },
  },
];

/** Creates a key whose outcome was recorded as unknown. */
async function createUnknownKey(context: ConformanceContext): Promise<string> {
  const key = context.newKey();
  await recordUnknown(context, await context.openHandle(), key);
  return key;
}

/** Creates a key whose lease has expired without a completion. */
async function createExpiredKey(context: ConformanceContext): Promise<string> {
  return (await expireClaim(context)).key;
}

function handleAt(handles: readonly [Handle, ...Handle[]], index: number): Handle {
  return handles[index % handles.length] ?? handles[0];
}
