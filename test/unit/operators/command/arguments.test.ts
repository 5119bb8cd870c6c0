import { expect, test } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { createConfigFolder, runCommand } from './run-command.ts';

const note = ['--by', 'ama', '--reason', 'found'];

test.each([
  [[], 'Name a command: list, show, resolve, count, desk, prune.'],
  [['lists'], 'Unknown command "lists". Did you mean list?'],
  [['delete'], 'Unknown command "delete". There are: list, show, resolve, count, desk, prune.'],
  [['list', 'order-17'], 'list takes no key. To see one, use show.'],
  [['count', 'order-17'], 'count takes no key.'],
  [['show'], 'show needs a key'],
  [['show', ''], 'show needs a key'],
  [['show', 'order', '17'], 'show takes one key, but got 2. Quote a key that has spaces.'],
  [['list', '--state', 'unresolved'], '--state takes unknown, begun, completed'],
  [['list', '--limit', '0'], '--limit takes a whole number from 1 on, not "0".'],
  [['list', '--limit', '1e3'], '--limit takes a whole number from 1 on, not "1e3".'],
  [['list', '--limt', '3'], "Unknown option '--limt'"],
  [['count', '--state', 'all'], '--state is an option of list, not of count.'],
  [['show', 'order-17', '--yes'], '--yes is an option of resolve and prune, not of show.'],
  [['resolve', ...note, '--not-charged'], 'resolve needs a key'],
  [
    ['resolve', 'order-17', ...note],
    'resolve needs one of these: --reference TXN-…, --not-charged, --accepted or --closed.',
  ],
  [['resolve', 'order-17', ...note, '--reference', 'TXN-1', '--not-charged'], 'resolve needs one of these'],
  [['resolve', 'order-17', ...note, '--closed', '--not-charged'], 'resolve needs one of these'],
  [['resolve', 'order-17', ...note, '--closed', '--accepted'], 'resolve needs one of these'],
  [['resolve', 'order-17', ...note, '--closed', '--yes'], '--yes confirms --not-charged.'],
  [['prune'], 'prune needs --before with a day in UTC, such as --before 2025-11-01. Nothing was deleted.'],
  [
    ['prune', '--before', 'yesterday'],
    'prune needs --before with a day in UTC, such as --before 2025-11-01, not',
  ],
  [['prune', '--before', '1761955200000'], 'prune needs --before with a day in UTC'],
  [['prune', '--before', '2025-02-31'], 'prune needs --before with a day in UTC'],
  [
    ['prune', '--before', '2999-01-01'],
    '--before 2999-01-01 is in the future. Give a day in the past. Nothing was deleted.',
  ],
  [['prune', 'order-17', '--before', '2025-11-01'], 'prune takes no key.'],
  [
    ['resolve', 'order-17', ...note, '--not-charged', '--checkout-url', 'https://pay.example/'],
    '--checkout-url belongs',
  ],
  [['resolve', 'order-17', ...note, '--reference', 'TXN-1', '--yes'], '--yes confirms --not-charged.'],
  [
    ['resolve', 'order-17', '--not-charged', '--reason', 'found'],
    'resolve needs --by: who resolves the key.',
  ],
  [['resolve', 'order-17', '--not-charged', '--by', ' ', '--reason', 'found'], 'resolve needs --by'],
  [['resolve', 'order-17', '--closed', '--by', 'ama', '--reason', ' '], 'resolve needs --reason'],
  [['resolve', 'order-17', '--not-charged', '--by', 'ama'], 'resolve needs --reason: what was found out.'],
  [['resolve', 'order-17', '--not-charged', '--by'], "Option '--by <value>' argument missing"],
])('exits with 1 and says what is wrong with %j', async (args, message) => {
  const { code, out, err } = await runCommand(args);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(`payment-journal: ${message}`);
  expect(err).toMatch(/\nnpx payment-journal --help shows what it takes\.\n$/);
});

test('shows what was typed without its control characters', async () => {
  const { err } = await runCommand(['\u001b[31mlist\u202e']);
  expect(err).toContain('Unknown command "\\u001b[31mlist\\u202e".');
});

test('prints the version', async () => {
  expect(await runCommand(['--version'])).toMatchObject({
    code: 0,
    out: `${packageJson.version}\n`,
    err: '',
  });
});

test.each(['--help', '-h', 'list --help', 'prune --help'])('shows %s in 80 columns', async (args) => {
  const { code, out, err, lines } = await runCommand(args.split(' '));
  expect([code, err]).toEqual([0, '']);
  expect(lines.filter(({ length }) => length > 80)).toEqual([]);
  const options = [
    'state',
    'limit',
    'reference',
    'checkout-url',
    'not-charged',
    'accepted',
    'closed',
    'by',
    'reason',
  ];
  for (const option of [...options, 'before', 'unfollowed', 'yes', 'config', 'json', 'help'])
    expect(out).toMatch(new RegExp(`^ +--${option}[ ,]`, 'm'));
  for (const heading of ['Commands', 'Options', 'Exit codes', 'Examples']) expect(lines).toContain(heading);
  for (const exit of ['0  done', '3  list or count found', '1  an error'])
    expect(out).toContain(`\n  ${exit}`);
});

test('runs every example of its help, as far as the config', async () => {
  const { out } = await runCommand(['--help']);
  const examples = out
    .slice(out.indexOf('\nExamples\n'))
    .replace(/ \\\n +/g, ' ')
    .split('\n')
    .filter((line) => line.startsWith('  npx payment-journal '));
  expect(examples.length).toBeGreaterThan(5);
  for (const example of examples) {
    const [, , , ...words] = example.replace(/ \|.*/, '').match(/"[^"]*"|\S+/g) ?? [];
    const command = example.trim().split(' ')[2] ?? '';
    const { err } = await runCommand([command, ...words.map((word) => word.replaceAll('"', ''))]);
    expect([example, err]).toEqual([example, expect.stringContaining('There is no config')]);
  }
});

test('needs no config for help and version', async () => {
  createConfigFolder();
  for (const args of [['--help'], ['--version'], ['resolve', '--help']])
    expect((await runCommand(args)).code).toBe(0);
});
