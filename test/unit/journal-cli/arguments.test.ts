import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { createConfigFolder, runCommand } from './run-command.ts';

const note = ['--by', 'ama', '--reason', 'found'];

test.each([
  [[], 'Name a command: list, show, resolve or count.'],
  [['lists'], 'Unknown command "lists". Did you mean list?'],
  [['delete'], 'Unknown command "delete". There are: list, show, resolve, count.'],
  [['list', 'order-17'], 'list takes no key. To see one key, use show.'],
  [['count', 'order-17'], 'count takes no key.'],
  [['show'], 'show needs a key'],
  [['show', ''], 'show needs a key'],
  [['show', 'order', '17'], 'show takes one key, but got 2. Quote a key that has spaces.'],
  [['list', '--state', 'unresolved'], '--state takes unknown, begun, completed'],
  [['list', '--limit', '0'], '--limit takes a whole number from 1 on, not "0".'],
  [['list', '--limit', '1e3'], '--limit takes a whole number from 1 on, not "1e3".'],
  [['list', '--limt', '3'], "Unknown option '--limt'"],
  [['count', '--state', 'all'], '--state is an option of list, not of count.'],
  [['show', 'order-17', '--yes'], '--yes is an option of resolve, not of show.'],
  [['resolve', ...note, '--not-charged'], 'resolve needs a key'],
  [['resolve', 'order-17', ...note], 'resolve needs one of the two: --reference TXN-… or --not-charged.'],
  [['resolve', 'order-17', ...note, '--reference', 'TXN-1', '--not-charged'], 'resolve needs one of the two'],
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
  [['resolve', 'order-17', '--not-charged', '--by', 'ama'], 'resolve needs --reason: what was found out.'],
  [['resolve', 'order-17', '--not-charged', '--by'], "Option '--by <value>' argument missing"],
])('exits with 1 and says what is wrong with %j', async (args, message) => {
  const { code, out, err } = await runCommand(args);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(`payment-journal: ${message}`);
  expect(err).toMatch(/\nnpx payment-journal( \w+)? --help shows what it takes\.\n$/);
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

test.each([
  ['--help', [], 'payment-journal count --config src/payments.ts'],
  ['-h', [], 'payment-journal show order-17/1'],
  ['list --help', ['state', 'limit'], '3  an unresolved key was listed'],
  ['show --help', [], '0  the entry was shown, also if it is unresolved'],
  [
    'resolve --help',
    ['reference', 'checkout-url', 'not-charged', 'yes', 'by', 'reason'],
    '1  nothing was changed, unless the message says otherwise',
  ],
  ['count --help', [], '3  a key is unresolved'],
])('shows %s in 80 columns', async (args, options, line) => {
  const { code, out, err, lines } = await runCommand(args.split(' '));
  expect([code, err]).toEqual([0, '']);
  expect(lines.filter(({ length }) => length > 80)).toEqual([]);
  for (const option of [...options, 'config', 'json', 'help']) expect(out).toContain(`\n  --${option} `);
  for (const heading of ['Options', 'Exit codes', 'Examples']) expect(lines).toContain(heading);
  expect(out).toContain(line);
});

test('runs every example of its help, as far as the config', async () => {
  const helps = await Promise.all(
    [[], ['list'], ['show'], ['resolve'], ['count']].map((command) => runCommand([...command, '--help'])),
  );
  const examples = helps.flatMap(({ out }) =>
    out
      .slice(out.indexOf('\nExamples\n'))
      .replace(/ \\\n +/g, ' ')
      .split('\n')
      .filter((line) => line.startsWith('  npx payment-journal ')),
  );
  expect(examples.length).toBeGreaterThan(9);
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
