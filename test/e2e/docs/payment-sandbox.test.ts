import { describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { startProcess } from '../../unit/operators/command/merchant-project.ts';
import { root } from './pages.ts';
import { find, start } from './shop-process.ts';
import { fencedIn, readPage } from './tables.ts';

const page = readPage('docs/reference/payment-sandbox.md');
const ROW =
  /^\| `--(?<name>[\w-]+)(?: (?<value><\w+>))?`(?:, `-h`)? \| (?<initial>.*?) ?\| (?<meaning>.+?) \|$/gm;
const rows = [...page.matchAll(ROW)].map(
  ({ groups }) => ({ ...groups }) as Record<string, string | undefined>,
);

/** Runs the built command to its end. `npm test` builds first. */
const run = (...args: string[]) =>
  startProcess(process.execPath, ['dist/payment-sandbox.js', ...args], root).ended;

test('names each option of --help with its default, and no other', async () => {
  const { code, out } = await run('--help');
  expect(code).toBe(0);
  const LINE = /^ {2}--(?<name>[\w-]+)(?: (?<value><\w+>))? +(?<text>.+?)(?: \((?<initial>[^()]+)\))?$/gm;
  const shown = [...out.matchAll(LINE)].map(
    ({ groups }) => ({ ...groups }) as Record<string, string | undefined>,
  );
  expect(shown.length).toBeGreaterThan(10);
  const withoutDefault = (value: string | undefined) => (value ? 'none' : 'off');
  expect(rows.map(({ name, value, initial }) => ({ name, value, initial }))).toEqual(
    shown.map(({ name, value, initial }) => ({
      name,
      value,
      initial: name === 'help' || name === 'version' ? '' : (initial ?? withoutDefault(value)),
    })),
  );
  expect(await run('-h')).toEqual({ code: 0, out, err: '' });
});

const ranges = rows.flatMap(({ name, meaning }) => {
  const [, min, max] = /\b(\d+) to (\d+)\b/.exec(meaning ?? '') ?? [];
  return min === undefined ? [] : [{ name, min, max }];
});

test.each(ranges)('names the range of --$name: $min to $max', async ({ name, min, max }) => {
  const { code, err } = await run(`--${name}`, 'x');
  expect({ code, err }).toEqual({
    code: 1,
    err: `payment-sandbox: --${name} takes a whole number from ${min} to ${max}, not "x".\n`,
  });
});

/** Runs a block of a page in a shell until the sandbox is ready. Returns what it printed. */
async function startBlock(block: string): Promise<string> {
  const env = { npm_config_offline: 'true', npm_config_update_notifier: 'false', NODE_OPTIONS: '' };
  const { output } = start('/bin/sh', ['-ec', block], await createMerchantProject(), env);
  await find(() => output.text, /Ctrl-C stops it\.\n/);
  return output.text;
}

test('shows what the command prints', async () => {
  const [command = '', ...others] = fencedIn(page, 'sh');
  expect(others).toEqual([]);
  const [shown = ''] = fencedIn(page, 'text');
  const port = `${await findFreePort()}`;
  const printed = await startBlock(command.replaceAll('4020', port));
  expect(printed.replaceAll(port, '4020')).toBe(shown);
});

describe('docs/guides/sandbox.md', () => {
  const blocks = fencedIn(readPage('docs/guides/sandbox.md'), 'sh');
  const commands = blocks.filter((block) => block.startsWith('npx payment-sandbox'));

  test('has the commands, and the line that the sandbox prints', () => {
    expect(commands.length).toBeGreaterThan(1);
    const [line = '', ...others] = blocks.filter((block) => block.startsWith('export '));
    expect(others).toEqual([]);
    expect(fencedIn(page, 'text')[0]?.replaceAll('4020', '4010')).toContain(`\n  ${line}`);
  });

  test.each(commands)('starts the sandbox: %s', async (command) => {
    const port = await findFreePort();
    const printed = await startBlock(`${command.trimEnd()} --port ${port}`);
    expect(printed).toContain(`  base URL      http://127.0.0.1:${port}/api/v1\n`);
    for (const [, address = ''] of command.matchAll(/-url (\S+)/g)) expect(printed).toContain(address);
  });
});
