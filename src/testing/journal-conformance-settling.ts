import type { Journal } from '../journal/journal.ts';
import { oneOfMany } from './journal-conformance-claims.ts';
import {
  charge,
  claimed,
  type JournalStage,
  leftInDoubt,
  must,
  otherInput,
  type Play,
  refusalOf,
  SHORT,
  stands,
} from './journal-conformance-stage.ts';

/** What somebody found out. */
export const settlingCases: readonly Play[] = [
  {
    name: 'a charge that was found is the answer from then on',
    async play(stage) {
      for (const key of [await keyInDoubt(stage), await keyLeft(stage)]) {
        const [journal, other] = [await stage.handle({ lease: SHORT }), await stage.handle()];
        await journal.resolve(key, { reference: 'TXN-found' });
        await journal.resolve(key, { reference: 'TXN-found' });
        const { result } = await stands(other, key, 'completed', 'its charge was found');
        must(result.reference === 'TXN-found', `the settled reference is ${result.reference}`);
      }
    },
  },
  {
    name: 'a payment by checkout page is settled with its checkout_url',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      const payment = { ...charge, operation: 'initialize' } as const;
      const claim = await claimed(journal, key, payment);
      await journal.end(claim, { state: 'unknown' });
      const checkout_url = 'https://pay.example/checkout/TXN-found';
      await journal.resolve(key, { reference: 'TXN-found', checkout_url });
      const { result } = await stands(journal, key, 'completed', 'it was settled', payment);
      const address = 'checkout_url' in result ? result.checkout_url : undefined;
      must(address === checkout_url, `the settled checkout_url is ${address}`);
    },
  },
  {
    name: 'a charge that was not made frees its key, for one, with any input',
    async play(stage) {
      const handles = await stage.handles(4);
      const patient = await stage.handle({ lease: SHORT });
      for (const attempt of [charge, otherInput]) {
        for (const key of [await keyInDoubt(stage), await keyLeft(stage)]) {
          await patient.resolve(key, 'not_charged');
          await patient.resolve(key, 'not_charged');
          await oneOfMany(handles, key, 'began a key that was freed', attempt);
        }
      }
    },
  },
  {
    name: 'a charge in progress cannot be settled yet',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      const claim = await claimed(owner, key);
      for (const resolution of [{ reference: 'TXN-found' }, 'not_charged'] as const) {
        const refusal = await refusalOf(other.resolve(key, resolution), 'a process is charging');
        must(refusal.retryable, 'the refusal does not say that the same may be said later');
      }
      await stands(other, key, 'in_progress', 'settling it was refused');
      must((await owner.renew(claim)) !== null, 'a refusal to settle took the claim from its owner');
    },
  },
  {
    name: 'a key of which nothing is recorded cannot be settled',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      for (const resolution of [{ reference: 'TXN-found' }, 'not_charged'] as const) {
        await refusalOf(journal.resolve(key, resolution), 'nothing is recorded of the key');
      }
      must((await journal.read(key)) === null, 'a refusal to settle left a record');
    },
  },
  {
    name: 'an answer that is recorded cannot be settled otherwise',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      const claim = await claimed(journal, key);
      await journal.end(claim, { state: 'completed', result: { reference: 'TXN-made' } });
      await journal.resolve(key, { reference: 'TXN-made' });
      for (const resolution of [{ reference: 'TXN-other' }, 'not_charged'] as const) {
        await refusalOf(journal.resolve(key, resolution), 'the answer of the service says otherwise');
      }
      const { result } = await stands(journal, key, 'completed', 'its result was recorded');
      must(result.reference === 'TXN-made', 'a refusal to settle changed the record');
    },
  },
  {
    name: 'of many that settle a key at once, each otherwise, one counts',
    async play(stage) {
      const handles = await stage.handles(4);
      const key = await keyInDoubt(stage);
      const references = [...handles, ...handles].map((_, index) => `TXN-${index}`);
      const settled = await Promise.allSettled(
        references.map((reference, index) => handleAt(handles, index).resolve(key, { reference })),
      );
      const winners = references.filter((_, index) => settled[index]?.status === 'fulfilled');
      must(winners.length === 1, `${winners.length} that said otherwise were told that theirs counts`);
      const { result } = await stands(handleAt(handles, 0), key, 'completed', 'it was settled');
      must(result.reference === winners[0], 'the record is not that of whoever was told that theirs counts');
    },
  },
];

/** Its outcome was recorded as unknown. */
async function keyInDoubt(stage: JournalStage): Promise<string> {
  const journal = await stage.handle();
  const key = stage.key();
  await journal.end(await claimed(journal, key), { state: 'unknown', reference: 'TXN-perhaps' });
  return key;
}

/** Whoever began it is not heard of any more. */
async function keyLeft(stage: JournalStage): Promise<string> {
  const key = stage.key();
  await claimed(await stage.handle(), key);
  await leftInDoubt(await stage.handle({ lease: SHORT }), key, 'the process that began had died');
  return key;
}

function handleAt(handles: Journal[], index: number): Journal {
  const journal = handles[index % handles.length];
  must(journal !== undefined, 'there is no handle');
  return journal;
}
