import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { JournalError } from '../../../../src/index.ts';
import { type JournalEntry, memoryJournal, memoryStore } from '../../../../src/stores/index.ts';
import { escapeUnprintable } from '../../../../src/ui/text.ts';
import { change, completeKey, made } from '../../../helpers/claims.ts';
import { fullEntry, holdEntries, runCommand, startShop } from './run-command.ts';

const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;

const parseLines = (out: string) =>
  out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

function fakeTime() {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

test('lists nothing and exits with 0 if nothing needs a person', async () => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-17/1');
  await shop.journal.resolve('order-17/1', 'not_charged', { by: 'ama', reason: 'the service has none' });
  expect(await runCommand(['list'], shop)).toMatchObject({
    code: 0,
    out: 'Nothing needs a person.\n',
    err: '',
  });
  const completed = await runCommand(['list', '--state', 'completed'], shop);
  expect(completed).toMatchObject({ code: 0, out: 'No payments in the state completed.\n' });
});

test('lists what needs a person, oldest first, and exits with 3', async () => {
  fakeTime();
  const shop = await startShop();
  await shop.leaveUnresolved('order-18/1');
  vi.setSystemTime(Date.now() + 5);
  await completeKey(shop.journal, '17', made('TXN-1'), { kind: 'order' });
  await completeKey(shop.journal, '18', made('TXN-1'), { kind: 'order', amount: '1200.00' });
  const { code, lines } = await runCommand(['list'], shop);
  expect(lines).toEqual([
    'SINCE               AMOUNT  REASON            REFERENCE         KEY',
    '0 s ago          25.50 GHS  unresolved        -                 order-18/1',
    '0 s ago        1200.00 GHS  shared_reference  TXN-1             18/1',
    '',
    '2 payments need a person. What to do: npx payment-journal show KEY',
  ]);
  expect(code).toBe(3);
});

test.each([
  ['completed', 0, ['order-2'], '1 payment, none of which need a person.'],
  ['unknown', 3, ['order-1'], '1 payment, 1 of which needs a person.'],
  ['begun', 0, [], 'No payments in the state begun.'],
  ['all', 3, ['order-1', 'order-2'], '2 payments, 1 of which needs a person.'],
] as const)('lists the payments in the state %s', async (state, code, keys, end) => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-1');
  await shop.leaveUnresolved('order-2');
  await shop.journal.resolve('order-2', { reference: 'TXN-8f2c61d0' }, { by: 'ama', reason: 'found' });
  const listed = await runCommand(['list', '--state', state, '--json'], shop);
  expect(listed.code).toBe(code);
  const entries = parseLines(listed.out);
  expect(entries.map(({ key }) => key).sort()).toEqual(keys);
  expect((await runCommand(['list', '--state', state], shop)).lines.at(-1)).toBe(end);
});

test('prints each item as the journal returns it, with --json', async () => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-17/1');
  await shop.leaveUnresolved('order-18/1');
  const attention = await runCommand(['list', '--json'], shop);
  const items = [];
  for await (const item of shop.journal.listAttention()) items.push(JSON.parse(JSON.stringify(item)));
  expect(parseLines(attention.out)).toEqual(items);
  const all = await runCommand(['list', '--state', 'all', '--json'], shop);
  const read = await Promise.all(['order-17/1', 'order-18/1'].map((key) => shop.journal.read(key)));
  expect(parseLines(all.out)).toEqual(read.map((entry) => JSON.parse(JSON.stringify(entry))));
});

test('lists at most --limit payments, and says if there are more', async () => {
  const shop = await startShop();
  for (const key of ['order-1', 'order-2', 'order-3']) await shop.leaveUnresolved(key);
  const two = await runCommand(['list', '--limit', '2'], shop);
  expect(two.lines.slice(1, 3).map((line) => line.split(' ').at(-1))).toEqual(['order-1', 'order-2']);
  expect(two.lines.at(-1)).toBe('There are more than --limit 2.');
  expect((await runCommand(['list', '--limit', '3'], shop)).out).not.toContain('There are more');
});

test.each([['--state', 'all'], []])(
  'names records of a newer version as what needs a person: list %s %s',
  async (...args) => {
    const store = memoryStore();
    const shop = await startShop(memoryJournal({ store }));
    const index = { kind: 'key', createdAt: 1, attentionAt: 1, dueAt: null } as const;
    await store.write('key order-17/1', { ...change, index, text: '{"format":99}' });
    const { code, out, err } = await runCommand(['list', ...args], shop);
    expect([code, out]).toEqual([3, '']);
    expect(err).toMatch(/^The records of "order-17\/1" cannot be read: .*\nA newer version .*: install it\./);
  },
);

test('lists all others before it reports keys that cannot be read', async () => {
  const { payments, journal } = await startShop();
  const list = async function* () {
    yield { ...fullEntry, order: undefined, reason: 'unresolved', since: 1 };
    throw new JournalError('The records of "order-18/1" cannot be read.', { outcome: 'unknown' });
  };
  Object.assign(journal, { listAttention: list });
  const { code, out, err } = await runCommand(['list'], { exports: { payments, journal } });
  expect(code).toBe(3);
  expect(out).toContain('order-17/1');
  expect(err).toMatch(/^The records of "order-18\/1" cannot be read\.\n/);
});

describe('the table', () => {
  const odd: Partial<JournalEntry>[] = [
    { key: 'order-17/1' },
    { key: 'o'.repeat(255), reference: `TXN-${'9'.repeat(200)}` },
    { key: '注文'.repeat(60), amount: '70368744177664.00', createdAt: minutesAgo(60 * 24 * 4_000) },
    { key: '👩‍👩‍👧‍👧'.repeat(20), state: 'completed' },
    { key: 'é'.normalize('NFD').repeat(100), amount: '9'.repeat(300), currency: 'X'.repeat(90) },
    { key: 'בראשית'.repeat(20), state: 'not_charged', createdAt: Number.NaN },
    { key: '\u001b[2J\u001b[31mred\u0007\u009b5m\r\n\u202egnp.exe\u2028'.repeat(5) },
    { key: '🇬🇭👍🏽❤️'.repeat(30), reference: '日本語'.repeat(20), createdAt: minutesAgo(59) },
    { key: '', currency: '', createdAt: Number.POSITIVE_INFINITY },
  ];
  const entries = odd.map((change) => ({ ...fullEntry, ...change }));

  test.each([[[]], [['--state', 'all']]])(
    'shows each payment in one line, with its whole key: list %j',
    async (args) => {
      const { payments, journal } = await startShop();
      const exports = { payments, journal: holdEntries(journal, entries) };
      const { lines } = await runCommand(['list', ...args], { exports });
      const shown = lines.slice(1, lines.indexOf(''));
      const expected = entries;
      expect(shown).toHaveLength(expected.length);
      expect(lines.filter((line) => /\p{Cc}|\p{Cf}/u.test(line))).toEqual([]);
      for (const [at, line] of shown.entries())
        expect(line.endsWith(`  ${escapeUnprintable(expected[at]?.key ?? '?')}`) || line).toBe(true);
    },
  );
});
