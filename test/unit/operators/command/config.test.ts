import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { PaymentsClient } from '../../../../src/index.ts';
import { memoryJournal } from '../../../../src/stores/index.ts';
import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import { BASE_URL } from '../../../helpers/world.ts';
import { createProject, type Project, runInOneProcess, sqliteConfig } from './merchant-project.ts';
import { runCommand, startShop } from './run-command.ts';

/** Leaves one key unresolved in the journal of a project. */
async function leaveUnresolved({ folder }: Project): Promise<void> {
  const database = new DatabaseSync(join(folder, 'journal.db'));
  const shop = await startShop(sqliteJournal(database));
  await shop.leaveUnresolved('order-17/1');
  database.close();
}

describe('a config', () => {
  const commonjs = { system: 'commonjs', exports: 'commonjs' } as const;
  const forms = [
    ['payments.ts', 'module', { isTyped: true }],
    ['payments.ts', 'module', { isTyped: true, exports: 'default' }],
    ['payments.ts', 'commonjs', { ...commonjs, isTyped: true }],
    ['payments.mts', 'commonjs', { isTyped: true }],
    ['payments.cts', 'module', { ...commonjs, isTyped: true }],
    ['payments.js', 'module', {}],
    ['payments.js', undefined, {}],
    ['payments.js', 'commonjs', commonjs],
    ['payments.js', 'commonjs', { system: 'commonjs', exports: 'transpiled' }],
    ['payments.mjs', 'commonjs', { exports: 'default' }],
    ['payments.cjs', 'module', commonjs],
  ] as const;
  const listed = { code: 3, out: expect.stringContaining('order-17/1'), err: '' };

  async function createConfig([file, type, options]: (typeof forms)[number]): Promise<Project> {
    const project = await createProject({
      [file]: sqliteConfig(options),
      'package.json': JSON.stringify({ type }),
    });
    await leaveUnresolved(project);
    return project;
  }

  test('is loaded as TypeScript and JavaScript, in each module system', async () => {
    const projects = await Promise.all(forms.map(createConfig));
    const ends = await runInOneProcess(projects.map((project) => [project, 'list'] as const));
    expect(ends.map((end, index) => [forms[index], end])).toEqual(forms.map((form) => [form, listed]));
  });

  test("is loaded in a package without a type, and Node's warning is not shown", async () => {
    const project = await createProject({
      'payments.ts': sqliteConfig({ isTyped: true }),
      'package.json': '{}',
    });
    await leaveUnresolved(project);
    expect(await project.run(['list'])).toMatchObject(listed);
  });

  test('in TypeScript is refused by a Node that runs none, with what to do', async () => {
    const project = await createProject({ 'payments.ts': sqliteConfig({ isTyped: true }) });
    const { code, out, err } = await project.run(['count'], { nodeArgs: ['--no-experimental-strip-types'] });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(`Node ${process.versions.node} runs no TypeScript. Use Node 22.18 or later`);
  });

  test('of a path that does not exist is an error', async () => {
    const { code, err } = await runCommand(['list', '--config', './missing.ts']);
    expect([code, err]).toEqual([
      1,
      'payment-journal: There is no config ./missing.ts.\n' +
        'Name the module that exports payments and journal: --config src/payments.ts.\n',
    ]);
  });

  test('that is not named must be the only one of its folder', async () => {
    const project = await createProject({ 'payments.ts': '', 'payments.mjs': '' });
    const { code, err } = await project.run(['list']);
    expect([code, err]).toEqual([
      1,
      'payment-journal: There are several configs in this folder: payments.ts, payments.mjs.\n' +
        'Name one of them: --config payments.ts.\n',
    ]);
  });

  test('that fails is told in one line, and not with a stack', async () => {
    const faults: [string, RegExp][] = [
      [
        "throw new Error('no connection to redis://:hunter2-hunter2@cache.internal');",
        /failed: no connection to redis:\S*\[REDACTED\]/,
      ],
      [
        "import './lib/database';",
        /failed: Cannot find module '\.\/lib\/database' .*\nNode runs the file as it is/,
      ],
      [
        "import 'not-installed';",
        /failed: Cannot find package 'not-installed' .*\nNode runs the file as it is/,
      ],
      ['enum Colour { Red }', /failed: SyntaxError: .*enum.*\nNode only removes types/],
      ['export const payments = ;', /failed: SyntaxError: /],
      ['await Promise.reject(undefined);', /failed: undefined\n/],
      ['throw { toString() { throw 1 } };', /failed: /],
    ];
    const projects = await Promise.all(
      faults.map(([text]) => createProject({ 'payments.ts': text, 'package.json': '{"type":"module"}' })),
    );
    const ends = await runInOneProcess(projects.map((project) => [project, 'list'] as const));
    expect(ends).toHaveLength(faults.length);
    for (const [index, { code, out, err }] of ends.entries()) {
      expect([code, out]).toEqual([1, '']);
      expect(err).toMatch(faults[index]?.[1] ?? /a fault/);
      expect(err).toMatch(/^payment-journal: The config payments\.ts failed: .*\n(?:.+\n)?$/);
      expect(err).not.toMatch(/^\s+at |hunter2/m);
      expect(err).not.toContain(projects[index]?.folder);
    }
  });
});

test.each([
  ['payments', 'exports no payments', ({ journal }: Exports) => ({ journal })],
  ['journal', 'exports no journal', ({ payments }: Exports) => ({ payments })],
  ['payments', 'is no PaymentsClient', ({ journal }: Exports) => ({ payments: {}, journal })],
  ['journal', 'is no journal', ({ payments }: Exports) => ({ payments, journal: new Map() })],
  [
    'journal',
    'is not the one that its payments use',
    ({ payments }: Exports) => ({ payments, journal: memoryJournal() }),
  ],
  [
    'payments',
    'is not the one that its payments use',
    ({ journal }: Exports) => ({
      payments: new PaymentsClient({ apiKey: 'a-live-key', baseUrl: BASE_URL }),
      journal,
    }),
  ],
])('refuses a config whose %s is wrong: %s', async (_, message, change) => {
  const shop = await startShop();
  const { code, out, err } = await runCommand(['list'], { exports: change(shop.exports) });
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(message);
  expect(err).toMatch(/\n(?:It must export|Give the client this journal)/);
});

type Exports = Awaited<ReturnType<typeof startShop>>['exports'];
