import { assert, type ConformanceTest, charge, expectClaim, expectState, SHORT, sleep } from './context.ts';

/** Each pair is one key to a store that pads, folds, normalises, cuts or matches patterns. */
const oddKeys = (id: string): string[] => [
  `${id}:order`,
  `${id}:Order`,
  `${id}:order `,
  ` ${id}:order`,
  `${id}:%`,
  `${id}:_`,
  `${id}:*`,
  `${id}:caf\u00e9`,
  `${id}:cafe\u0301`,
  `${id}:\u{1f4b3}\u6ce8\u6587`,
  `${id}:it's "quoted" \\ \`so\` $1 ? {x} --;`,
  `${id}:../../order/17`,
  `${id}:null`,
  `${id}:`,
  `${id}:${'x'.repeat(254 - id.length)}`,
  `${id}:${'x'.repeat(253 - id.length)}y`,
  `${id}:${'\u{1f4b3}'.repeat(254 - id.length)}`,
  `${id}:${'\u{1f4b3}'.repeat(253 - id.length)}\u{1f4b4}`,
];

const oddTexts = {
  unicode: 'Merci, \u0645\u0631\u062d\u0628\u0627 \u{1f4b3} caf\u00e9 cafe\u0301 \u2028\u2029',
  control: 'a\u0000b\u0007\r\n\t\u001f\u007f',
  half: `\ud800 and \udfff`,
  quotes: `'"\`\\ $1 :name ? %s {} \\u0041`,
  empty: '',
  long: 'a'.repeat(200_000),
};

/** What is kept. */
export const recordCases: readonly ConformanceTest[] = [
  {
    name: 'each key has a record of its own, whatever it is spelt like',
    async play(stage) {
      const [writer, reader] = [await stage.handle(), await stage.handle()];
      const keys = oddKeys(crypto.randomUUID().slice(0, 8));
      const attempts = keys.map((key, index) => ({
        key,
        attempt: { ...charge, fingerprint: `of key ${index}` },
      }));
      for (const { key, attempt } of attempts) {
        const claim = await expectClaim(writer, key, attempt, ` of the key ${JSON.stringify(key)}`);
        await writer.complete(claim, { state: 'unknown', reference: `TXN-${attempt.fingerprint.slice(7)}` });
      }
      for (const { key, attempt } of attempts) {
        const standing = await expectState(
          reader,
          key,
          'unknown',
          `the key is ${JSON.stringify(key)}`,
          attempt,
        );
        const expected = `TXN-${attempt.fingerprint.slice(7)}`;
        assert(
          standing.reference === expected,
          `the key ${JSON.stringify(key)} has the record of another one`,
        );
      }
    },
  },
  {
    name: 'a result comes back as it was, whatever is in it',
    async play(stage) {
      const [writer, reader] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      const result = {
        reference: 'TXN-made',
        ...oddTexts,
        numbers: [0, -1, 1.5, 1e21, 2 ** 53],
        nested: { list: [null, true, [], {}], '': 'no name', 'odd \u0000 "name"': oddTexts.half },
      };
      const claim = await expectClaim(writer, key);
      assert(await writer.complete(claim, { state: 'completed', result }), 'end says that the claim is lost');
      const standing = await expectState(reader, key, 'completed', 'its result was recorded');
      const changed = Object.entries(result).filter(
        ([name, value]) => inOrder(Object(standing.result)[name]) !== inOrder(value),
      );
      const names = changed.map(([name]) => name).join(', ');
      assert(changed.length === 0, `the recorded result came back with another ${names}`);
    },
  },
  {
    name: 'a record in doubt is never dropped, whatever the retention',
    async play(stage) {
      const journal = await stage.handle({ lease: SHORT, retention: SHORT });
      const [begun, renewed, unknown, again] = [stage.key(), stage.key(), stage.key(), stage.key()];
      await expectClaim(journal, begun);
      await journal.renew(await expectClaim(journal, renewed));
      await journal.complete(await expectClaim(journal, unknown), {
        state: 'unknown',
        reference: 'TXN-perhaps',
      });
      // Where it was to be dropped, it is not any more once it is begun again.
      await journal.complete(await expectClaim(journal, again), { state: 'not_sent' });
      await expectClaim(journal, again);
      await sleep(3 * SHORT);
      for (const key of stage.keys(20)) await expectClaim(journal, key);
      const reader = await stage.handle({ lease: SHORT, retention: SHORT });
      await expectState(reader, begun, 'unknown', 'it was begun, and nobody had ended it');
      await expectState(reader, renewed, 'unknown', 'it was renewed, and nobody had ended it');
      await expectState(reader, again, 'unknown', 'it was begun again, and nobody had ended it');
      const standing = await expectState(reader, unknown, 'unknown', 'its outcome is unknown');
      assert(standing.reference === 'TXN-perhaps', `its reference came back as ${standing.reference}`);
    },
  },
];

/** Databases may keep the fields of an object in another order. */
function inOrder(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1))
      : part,
  );
}
