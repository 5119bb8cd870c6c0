import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { conditions } from '../conditions.ts';
import { median, spread } from '../median.ts';
import { printTable } from '../table.ts';

/** Milliseconds: of Node itself until the first line runs, and of loading the package after that. */
interface Load {
  boot: number;
  load: number;
  /** Of the processors, while the package is loaded. Other work on the machine changes it less. */
  cpu: number;
}

interface Row {
  label: string;
  kind: 'import' | 'require';
  /** Undefined for Node alone. */
  specifier: string | undefined;
  loads: Load[];
}

const here = fileURLToPath(new URL('..', import.meta.url));
const ours = (file: string) => fileURLToPath(new URL(`../../dist/${file}`, import.meta.url));

const packages: readonly (readonly [label: string, imported: string, required: string])[] = [
  ['ours', ours('index.js'), ours('index.cjs')],
  ['ours, /schedule', ours('schedule.js'), ours('schedule.cjs')],
  ['ours, /node with undici', ours('node.js'), ours('node.cjs')],
  ...['stripe', 'openai', 'square', '@mollie/api-client', 'paystack-sdk'].map(
    (name) => [name, name, name] as const,
  ),
];

const codes = {
  import: 'if (process.argv[1]) await import(process.argv[1]);',
  require: 'if (process.argv[1]) require(process.argv[1]);',
};
const start = 'const boot = performance.now(), before = process.cpuUsage();';
const say =
  'const load = performance.now() - boot, { user, system } = process.cpuUsage(before); ' +
  'console.log(JSON.stringify({ boot, load, cpu: (user + system) / 1_000 })); process.exit()';

/** How long each package takes to load in a process that has loaded nothing, its files being in the disk cache. */
export async function benchImports(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { rounds: { type: 'string', default: '15' } } });
  const rounds = Number(values.rounds);
  if (!(Number.isInteger(rounds) && rounds > 0))
    throw new Error('--rounds must be a whole number, 1 or more.');
  if (!existsSync(ours('index.js'))) throw new Error('What is measured is what is shipped: npm run build');
  const rows = (['import', 'require'] as const).flatMap((kind) => [
    { label: 'nothing', kind, specifier: undefined, loads: [] },
    ...packages.map(([label, imported, required]): Row => {
      return { label, kind, specifier: kind === 'import' ? imported : required, loads: [] };
    }),
  ]);
  await loaded(rows[0]);
  for (let round = 0; round < rounds; round++) for (const row of rows) row.loads.push(await loaded(row));

  console.log(
    `${conditions()} Each figure is the median of ${rounds} turns, each in a fresh process; no compile cache.`,
  );
  printTable('Milliseconds to load', rows, [
    ['package', ({ label }) => label],
    ['by', ({ kind }) => kind],
    ['load', ({ loads }) => median(loads.map(({ load }) => load))],
    ['CPU', ({ loads }) => median(loads.map(({ cpu }) => cpu))],
    ['from - to', ({ loads }) => spread(loads.map(({ load }) => load))],
    ['Node before it', ({ loads }) => median(loads.map(({ boot }) => boot))],
  ]);
}

async function loaded(
  { kind, specifier }: Pick<Row, 'kind' | 'specifier'> = { kind: 'import', specifier: undefined },
): Promise<Load> {
  const type = kind === 'import' ? 'module' : 'commonjs';
  const args = [
    `--input-type=${type}`,
    '-e',
    `${start} ${codes[kind]} ${say}`,
    ...(specifier ? [specifier] : []),
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: here });
  return JSON.parse(stdout);
}
