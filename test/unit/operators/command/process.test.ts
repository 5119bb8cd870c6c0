import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import { createProject, type Project, sqliteConfig, startProcess } from './merchant-project.ts';
import { createConfigFolder, fullEntry, holdEntries, runCommand, startShop } from './run-command.ts';

const type = { 'package.json': '{"type":"module"}' };

/** A project with keys left unresolved in its journal. */
async function createProjectWithKeys(more = '', count = 1): Promise<Project> {
  const project = await createProject({ ...type, 'payments.ts': sqliteConfig({ more }) });
  const database = new DatabaseSync(join(project.folder, 'journal.db'));
  const shop = await startShop(sqliteJournal(database));
  for (let number = 1; number <= count; number++) await shop.leaveUnresolved(`order-${number}`);
  database.close();
  return project;
}

/** Makes the journal of a config return so many entries. */
const manyEntries = (count: number) => `
  const entry = ${JSON.stringify(fullEntry)};
  journal.listAttention = async function* () {
    for (let number = 0; number < ${count}; number++) yield { ...entry, reason: 'unresolved', key: 'order-' + number };
  };`;

describe('the process', () => {
  test('exits with 0, 3 or 1', async () => {
    const project = await createProjectWithKeys();
    expect(await project.run(['count'])).toMatchObject({ code: 3, err: '' });
    expect(await project.run(['show', 'order-1'])).toMatchObject({ code: 0, err: '' });
    expect(await project.run(['show', 'order-2'])).toMatchObject({ code: 1, out: '' });
  });

  test('ends though the config keeps it alive, and calls its close first', async () => {
    const project = await createProjectWithKeys(`
      import { createServer } from 'node:net';
      import { writeFileSync } from 'node:fs';
      createServer().listen(0, '127.0.0.1');
      setInterval(() => {}, 1_000);
      export const close = async () => writeFileSync('closed', String(process.exitCode));`);
    expect(await project.run(['list'])).toMatchObject({ code: 3, err: '' });
    expect(await readFile(join(project.folder, 'closed'), 'utf8')).toBe('undefined');
  });

  test('prints everything before it ends, to a reader that is slow', async () => {
    const project = await createProjectWithKeys(manyEntries(5_000));
    const { child, ended } = project.start(['list', '--json']);
    child.stdout.pause();
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, 500);
    await promise;
    child.stdout.resume();
    const { code, out, err } = await ended;
    expect([code, err]).toEqual([3, '']);
    const keys = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).key);
    expect(keys).toEqual(Array.from({ length: 5_000 }, (_, at) => `order-${at}`));
  });

  test.each([
    [
      "setTimeout(() => pool.emit('error', new Error('lost postgres://me:hunter2-hunter2@db.internal/shop')));",
      'lost postgres:',
    ],
    [
      "setTimeout(() => void Promise.reject(new TypeError('no reply from redis://:hunter2-hunter2@db')));",
      'TypeError: no reply',
    ],
  ])('ends with 1 and no stack after an error that nothing handles: %s', async (fails, message) => {
    const project = await createProjectWithKeys(`
      import { EventEmitter } from 'node:events';
      const pool = new EventEmitter();
      journal.listAttention = async function* () {
        ${fails}
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      };`);
    const { code, out, err } = await project.run(['list']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^payment-journal: .*\[REDACTED\].*\nNothing handles this error, so the command ends\..*\n$/,
    );
    expect(err).toContain(message);
    expect(err).not.toMatch(/hunter2|^\s+at /m);
  });

  test('keeps what the config logs out of its output', async () => {
    const project = await createProjectWithKeys(`
      console.log('[dotenv] injected 3 variables');
      console.info('not shown');
      console.warn('\\u001b[31mkey', process.env.PAYMENTS_API_KEY);
      console.table([{ a: 1 }]);
      process.emitWarning('old', 'DeprecationWarning');`);
    const env = { PAYMENTS_API_KEY: 'Zx9-correct-horse-battery' };
    const { code, out, err } = await project.run(['count', '--json'], { env });
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ attention: 1 });
    expect(err).toContain('config: [dotenv] injected 3 variables\n');
    expect(err).toContain('config: \\u001b[31mkey [REDACTED]\n');
    expect(err).toContain('config: DeprecationWarning: old\n');
    expect(err).not.toContain('not shown');
  });
});

describe('in a terminal', () => {
  /** Runs the command as in a terminal: util-linux and macOS bring the program script. */
  function runInTerminal({ folder }: Project, command: string, typed: string) {
    const line = `${process.execPath} node_modules/payment-collection-client/dist/payment-journal.js ${command}`;
    const args =
      process.platform === 'darwin'
        ? ['-q', '/dev/null', 'sh', '-c', line]
        : ['--quiet', '--return', '--command', line, '/dev/null'];
    const { child, ended } = startProcess('script', args, folder, { TERM: 'xterm-256color', CI: undefined });
    let shown = '';
    child.stdout.on('data', (text: string) => {
      shown += text;
      if (/type its amount/.test(shown)) child.stdin.end(`${typed}\r`);
    });
    return ended;
  }

  test('asks for the amount, and resolves the key', async () => {
    const project = await createProject(type);
    const database = new DatabaseSync(join(project.folder, 'journal.db'));
    const journal = sqliteJournal(database);
    const shop = await startShop(journal);
    await project.write('payments.ts', sqliteConfig({ baseUrl: shop.service.baseUrl }));
    await shop.leaveUnresolved('order-1');
    const resolve = 'resolve order-1 --not-charged --by ama --reason none';
    const wrong = await runInTerminal(project, resolve, '26.50');
    expect(stripVTControlCharacters(wrong.out)).toContain('That is not the amount. Nothing was changed.');
    expect(wrong.code).toBe(1);
    const right = await runInTerminal(project, resolve, '25.50');
    expect(stripVTControlCharacters(right.out)).toContain('Resolved: order-1 was not charged.');
    expect([right.code, right.out.includes('\u001b[32m')]).toEqual([0, true]);
    expect((await journal.read('order-1'))?.state).toBe('not_charged');
    database.close();
  });
});

describe('a step that hangs ends the command', () => {
  const hang = () => new Promise<never>(() => {});

  /** Runs a command on a fake clock, once it waits. */
  async function runWhileHanging(
    args: readonly string[],
    createExports: (hang: () => Promise<never>) => Promise<object>,
  ) {
    const waiting = Promise.withResolvers<void>();
    const exports = await createExports(() => {
      waiting.resolve();
      return hang();
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const running = runCommand(args, { exports });
    await waiting.promise;
    await vi.advanceTimersByTimeAsync(300_000);
    await vi.advanceTimersByTimeAsync(5_000);
    return running;
  }

  test.each([
    [['show', 'order-17'], 30],
    [['list'], 30],
    [['count'], 30],
  ])('if it is the journal: %j', async (args, seconds) => {
    const { code, out, err } = await runWhileHanging(args, async (hangNow) => {
      const { payments, journal } = await startShop();
      const listAttention = async function* () {
        yield await hangNow();
      };
      return {
        payments,
        journal: Object.assign(journal, { read: hangNow, count: hangNow, listAttention }),
        close: hang,
      };
    });
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `payment-journal: The journal did not respond within ${seconds} s.\nCheck that its database is up.\n` +
        'payment-journal: The close function of the config did not respond within 5 s.\n',
    );
  });

  test('if it is the resolution, which might have been recorded', async () => {
    const args = ['resolve', 'order-17/1', '--not-charged', '--yes', '--by', 'ama', '--reason', 'none'];
    const { code, err } = await runWhileHanging(args, async (hangNow) => {
      const { payments, journal } = await startShop();
      Object.assign(payments, { resolve: hangNow });
      return { payments, journal: holdEntries(journal, [fullEntry]) };
    });
    expect([code, err]).toEqual([
      1,
      'payment-journal: The resolution did not respond within 180 s.\n' +
        'It might have been recorded. Run npx payment-journal show with this key.\n',
    ]);
  });

  test('if it is the config', async () => {
    const file = join(createConfigFolder(), 'hanging.mjs');
    await writeFile(file, 'await new Promise(() => {});\n');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const running = runCommand(['list', '--config', file]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await running).toMatchObject({
      code: 1,
      err:
        'payment-journal: The config hanging.mjs did not respond within 30 s.\n' +
        'It must not wait for a database that is down, nor for an event.\n',
    });
  });
});
