import {
  assert,
  type ConformanceCases,
  charge,
  complete,
  expectClaim,
  expectCompletion,
  expectState,
  expectUnknownAfterLease,
  recordUnknown,
  SHORT_LEASE,
  sleep,
} from './context.ts';

/** Pairs of keys. A store that pads, folds, normalises, truncates or matches patterns takes a pair for one key. */
const createUnusualKeys = (id: string): string[] => [
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

const unusualTexts = {
  unicode: 'Merci, \u0645\u0631\u062d\u0628\u0627 \u{1f4b3} caf\u00e9 cafe\u0301 \u2028\u2029',
  control: 'a\u0000b\u0007\r\n\t\u001f\u007f',
  surrogates: `\ud800 and \udfff`,
  quotes: `'"\`\\ $1 :name ? %s {} \\u0041`,
  empty: '',
  long: 'a'.repeat(200_000),
};

/** What a store must keep: keys, results, and unresolved records. */
export const recordCases: ConformanceCases = {
  async 'keeps a separate record for each key, however it is spelled'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    const keys = createUnusualKeys(crypto.randomUUID().slice(0, 8));
    const charges = keys.map((key, index) => ({
      key,
      what: `the key ${JSON.stringify(key)}`,
      intent: { ...charge, fingerprint: `of key ${index}` },
      reference: `TXN-${index}`,
    }));
    for (const { key, what, intent, reference } of charges) {
      const claim = await expectClaim(writer, key, intent, what);
      await expectCompletion(writer, claim, { state: 'unknown', reference });
    }
    for (const { key, what, intent, reference } of charges) {
      const result = await expectState(reader, key, 'unknown', `this is ${what}`, intent);
      assert(result.reference === reference, `${what} has the record of another one`);
    }
  },
  async 'returns a result unchanged, whatever it contains'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    const key = context.newKey();
    const recorded = {
      reference: 'TXN-made',
      ...unusualTexts,
      numbers: [0, -1, 1.5, 1e21, 2 ** 53],
      nested: { list: [null, true, [], {}], '': 'no name', 'odd \u0000 "name"': unusualTexts.surrogates },
    };
    await complete(context, writer, key, { state: 'completed', result: recorded });
    const { result } = await expectState(reader, key, 'completed', 'its result was recorded');
    const changed = Object.entries(recorded).filter(
      ([name, value]) => stringifySorted(Object(result)[name]) !== stringifySorted(value),
    );
    const names = changed.map(([name]) => name).join(', ');
    assert(changed.length === 0, `the recorded result came back with another ${names}`);
  },
  async 'never drops an unresolved record'(context) {
    const options = { lease: SHORT_LEASE };
    const journal = await context.openHandle(options);
    const [claimed, renewed] = [context.newKey(), context.newKey()];
    const [unknown, reclaimed] = [context.newKey(), context.newKey()];
    await expectClaim(journal, claimed);
    await journal.renew(await expectClaim(journal, renewed));
    await complete(context, journal, unknown, { state: 'unknown', reference: 'TXN-perhaps' });
    await complete(context, journal, reclaimed, { state: 'not_sent' });
    await expectClaim(journal, reclaimed);
    await sleep(3 * SHORT_LEASE);
    for (const key of context.newKeys(20)) await expectClaim(journal, key);
    const reader = await context.openHandle(options);
    await expectState(reader, claimed, 'unknown', 'it was claimed and never completed');
    await expectState(reader, renewed, 'unknown', 'its lease was renewed, and it was never completed');
    await expectState(reader, reclaimed, 'unknown', 'it was claimed again and never completed');
    const { reference } = await expectState(reader, unknown, 'unknown', 'its outcome is unknown');
    assert(reference === 'TXN-perhaps', `the recorded reference is ${reference}`);
  },
  async 'keeps every record after all handles are closed'(context) {
    const journal = await context.openHandle();
    const [completedKey, claimedKey, unknownKey] = [context.newKey(), context.newKey(), context.newKey()];
    await complete(context, journal, completedKey);
    await expectClaim(journal, claimedKey);
    await recordUnknown(context, journal, unknownKey);
    await context.closeAll();
    const later = await context.openHandle({ lease: SHORT_LEASE });
    await expectState(later, completedKey, 'completed', 'it was recorded before the handles were closed');
    await expectState(later, unknownKey, 'unknown', 'it was recorded before the handles were closed');
    await expectUnknownAfterLease(later, claimedKey, 'the handle with the claim was closed');
  },
  async 'gives each of many writes at once its own result'(context) {
    const [other, journal] = [await context.openHandle(), await context.openHandle()];
    const [free, taken] = [context.newKeys(9), context.newKeys(3)];
    const claimed = await Promise.all(taken.map((key) => expectClaim(other, key)));
    const keys = [...free.slice(0, 5), ...taken, ...free.slice(5)];
    const results = await Promise.all(keys.map((key) => journal.claim(key, charge)));
    for (const [index, key] of keys.entries()) {
      const expected = taken.includes(key) ? 'in_progress' : 'claimed';
      const state = results[index]?.state;
      assert(state === expected, `one of many claims at once was ${state}, instead of ${expected}`);
    }
    const own = results.flatMap((result) => (result.state === 'claimed' ? [result.claim] : []));
    const lost = claimed.map((claim) => ({ ...claim, version: crypto.randomUUID() }));
    const claims = [...own.slice(0, 5), ...lost, ...own.slice(5)];
    const completed = await Promise.all(
      claims.map((claim) =>
        journal.complete(claim, { state: 'completed', result: { reference: `TXN-of-${claim.key}` } }),
      ),
    );
    for (const [index, { key }] of claims.entries()) {
      const isOwn = free.includes(key);
      assert(completed[index] === isOwn, `one of many completions at once returned ${completed[index]}`);
      const reference = (await other.read(key))?.reference;
      const expected = isOwn ? `TXN-of-${key}` : undefined;
      assert(reference === expected, `one of many records written at once has ${reference}`);
    }
  },
};

/** Stringifies with sorted names, because a database can reorder the fields of an object. */
function stringifySorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))
      : part,
  );
}
