import type { Journal } from '../../journal/journal.ts';
import { expectSingleWinner } from './claims.ts';
import {
  assert,
  type ConformanceContext,
  type ConformanceTest,
  charge,
  expectClaim,
  expectRejection,
  expectState,
  expectUnknownAfterLease,
  otherInput,
  SHORT,
} from './context.ts';

/** What somebody found out. */
export const settlingCases: readonly ConformanceTest[] = [
  {
    name: 'a charge that was found is the answer from then on',
    async play(stage) {
      for (const key of [await unknownKey(stage), await abandonedKey(stage)]) {
        const [journal, other] = [await stage.handle({ lease: SHORT }), await stage.handle()];
        await journal.resolve(key, { reference: 'TXN-found' });
        await journal.resolve(key, { reference: 'TXN-found' });
        const { result } = await expectState(other, key, 'completed', 'its charge was found');
        assert(result.reference === 'TXN-found', `the settled reference is ${result.reference}`);
      }
    },
  },
  {
    name: 'a payment by checkout page is settled with its checkout_url',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      const payment = { ...charge, operation: 'initialize' } as const;
      const claim = await expectClaim(journal, key, payment);
      await journal.complete(claim, { state: 'unknown' });
      const checkout_url = 'https://pay.example/checkout/TXN-found';
      await journal.resolve(key, { reference: 'TXN-found', checkout_url });
      const { result } = await expectState(journal, key, 'completed', 'it was settled', payment);
      const address = 'checkout_url' in result ? result.checkout_url : undefined;
      assert(address === checkout_url, `the settled checkout_url is ${address}`);
    },
  },
  {
    name: 'a charge that was not made frees its key, for one, with any input',
    async play(stage) {
      const handles = await stage.handles(4);
      const patient = await stage.handle({ lease: SHORT });
      for (const attempt of [charge, otherInput]) {
        for (const key of [await unknownKey(stage), await abandonedKey(stage)]) {
          await patient.resolve(key, 'not_charged');
          await patient.resolve(key, 'not_charged');
          await expectSingleWinner(handles, key, 'began a key that was freed', attempt);
        }
      }
    },
  },
  {
    name: 'a charge in progress cannot be settled yet',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      const claim = await expectClaim(owner, key);
      for (const resolution of [{ reference: 'TXN-found' }, 'not_charged'] as const) {
        const refusal = await expectRejection(other.resolve(key, resolution), 'a process is charging');
        assert(refusal.retryable, 'the refusal does not say that the same may be said later');
      }
      await expectState(other, key, 'in_progress', 'settling it was refused');
      assert((await owner.renew(claim)) !== null, 'a refusal to settle took the claim from its owner');
    },
  },
  {
    name: 'a key of which nothing is recorded cannot be settled',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      for (const resolution of [{ reference: 'TXN-found' }, 'not_charged'] as const) {
        await expectRejection(journal.resolve(key, resolution), 'nothing is recorded of the key');
      }
      assert((await journal.read(key)) === null, 'a refusal to settle left a record');
    },
  },
  {
    name: 'an answer that is recorded cannot be settled otherwise',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      const claim = await expectClaim(journal, key);
      await journal.complete(claim, { state: 'completed', result: { reference: 'TXN-made' } });
      await journal.resolve(key, { reference: 'TXN-made' });
      for (const resolution of [{ reference: 'TXN-other' }, 'not_charged'] as const) {
        await expectRejection(journal.resolve(key, resolution), 'the answer of the service says otherwise');
      }
      const { result } = await expectState(journal, key, 'completed', 'its result was recorded');
      assert(result.reference === 'TXN-made', 'a refusal to settle changed the record');
    },
  },
  {
    name: 'of many that settle a key at once, each otherwise, one counts',
    async play(stage) {
      const handles = await stage.handles(4);
      const key = await unknownKey(stage);
      const references = [...handles, ...handles].map((_, index) => `TXN-${index}`);
      const settled = await Promise.allSettled(
        references.map((reference, index) => handleAt(handles, index).resolve(key, { reference })),
      );
      const winners = references.filter((_, index) => settled[index]?.status === 'fulfilled');
      assert(winners.length === 1, `${winners.length} that said otherwise were told that theirs counts`);
      const { result } = await expectState(handleAt(handles, 0), key, 'completed', 'it was settled');
      assert(
        result.reference === winners[0],
        'the record is not that of whoever was told that theirs counts',
      );
    },
  },
];

/** Its outcome was recorded as unknown. */
async function unknownKey(stage: ConformanceContext): Promise<string> {
  const journal = await stage.handle();
  const key = stage.key();
  await journal.complete(await expectClaim(journal, key), { state: 'unknown', reference: 'TXN-perhaps' });
  return key;
}

/** Whoever began it is not heard of any more. */
async function abandonedKey(stage: ConformanceContext): Promise<string> {
  const key = stage.key();
  await expectClaim(await stage.handle(), key);
  await expectUnknownAfterLease(await stage.handle({ lease: SHORT }), key, 'the process that began had died');
  return key;
}

function handleAt(handles: Journal[], index: number): Journal {
  const journal = handles[index % handles.length];
  assert(journal !== undefined, 'there is no handle');
  return journal;
}
