import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import packageJson from '../../../package.json' with { type: 'json' };
import { blocksOf, fileNameOf } from './blocks.ts';
import { isReachable } from './packed.ts';
import { type Page, root } from './pages.ts';
import { splitCommands } from './split-commands.ts';

interface Manifest {
  readonly name?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** What a command is checked against. */
interface Place {
  readonly page: Page;
  /** Where the command is run, from the root. It is undefined in a folder of the reader. */
  folder: string | undefined;
  /** The folders of the package that the block has copied, by their new names. */
  readonly copies: Map<string, string>;
}

const SHELL = /^(?<indent> *)```(?<language>sh|bash|shell|zsh|console)\n(?<code>.*?)^ *```$/gms;

/** A script that a page shows. */
export interface ShellBlock {
  readonly page: Page;
  readonly language: string;
  /** The number of its first line of code, from 1. */
  readonly line: number;
  readonly code: string;
}

/** Lists the shell blocks of a page. */
export function shellBlocksOf(page: Page): ShellBlock[] {
  return [...page.text.matchAll(SHELL)].map(({ index, groups }) => ({
    page,
    language: groups?.language ?? '',
    line: page.text.slice(0, index).split('\n').length + 1,
    code: groups?.code ?? '',
  }));
}

const readManifest = (path: string): Manifest => JSON.parse(readFileSync(root + path, 'utf8'));

const notInstalled = { cwd: root, exclude: (path: string) => /node_modules|\.next/.test(path) };
const manifests = new Map(
  globSync(['package.json', '{bench,examples,test}/**/package.json'], notInstalled).map((path) => [
    path,
    readManifest(path),
  ]),
);
const dependenciesOf = ({ dependencies, devDependencies, peerDependencies }: Manifest) =>
  Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies });
const packages = new Set(
  [...manifests.values()].flatMap((manifest) => [manifest.name ?? '', ...dependenciesOf(manifest)]),
);

/** Finds the folder with the package.json that npm uses in a folder. */
function findProject(folder: string): string {
  if (folder === '.' || manifests.has(posix.join(folder, 'package.json'))) return folder;
  return findProject(dirname(folder));
}

const projectOf = ({ folder }: Place) => (folder === undefined ? undefined : findProject(folder));
const manifestOf = (place: Place): Manifest =>
  manifests.get(posix.join(projectOf(place) ?? 'none', 'package.json')) ?? {};

/** The text and the paths of a folder's code, in which a variable or a route is looked for. */
function readCode(folder: string): string {
  const files = globSync(`${folder}/**/*.{ts,tsx,js,mjs,json,jsonc,yaml,toml,sql}`, notInstalled);
  return files.map((path) => `${path}\n${readFileSync(root + path, 'utf8')}`).join('\n');
}

const isFlag = (word: string) => word.startsWith('-');

/** Whether a file is in the folder, or on the page. */
function hasFile({ page, folder }: Place, name: string): boolean {
  const shown = blocksOf(page).map(fileNameOf);
  if (shown.includes(posix.normalize(name))) return true;
  return (
    folder !== undefined &&
    [folder, findProject(folder)].some((from) => existsSync(root + posix.join(from, name)))
  );
}

const missing = (place: Place, name: string) => (hasFile(place, name) ? [] : [`there is no file ${name}`]);

function checkNpm(words: readonly string[], place: Place): string[] {
  const prefix = words.indexOf('--prefix');
  if (prefix >= 0) {
    const rest = words.toSpliced(prefix, 2);
    return checkNpm(rest, { ...place, folder: posix.join(place.folder ?? '', words[prefix + 1] ?? '') });
  }
  const [command = '', ...named] = words.slice(0, indexOrEnd(words, '--')).filter((word) => !isFlag(word));
  if (command === 'run') {
    const missing = named.slice(0, 1).filter((script) => !manifestOf(place).scripts?.[script]);
    return missing.map((script) => `there is no script ${script}`);
  }
  if (command === 'install') {
    const unknown = named.filter(
      (word) => !word.endsWith('.tgz') && !packages.has(word.replace(/(?<=.)@.*$/, '')),
    );
    return unknown.map((name) => `no package.json names ${name}`);
  }
  return ['ci', 'cit', 'test', 'pack', 'init', 'ls', 'pkg'].includes(command)
    ? []
    : [`npm ${command} is of no known kind`];
}

function indexOrEnd(words: readonly string[], word: string): number {
  const index = words.indexOf(word);
  return index < 0 ? words.length : index;
}

function checkNpx(words: readonly string[], place: Place): string[] {
  const rest = words[0] === '-p' || words[0] === '--package' ? words.slice(2) : words;
  const [name = '', ...own] = rest.filter((word) => word !== '--no-install');
  if (name in packageJson.bin) return checkOwn(name, own);
  const named = words === rest ? name : (words[1] ?? '');
  const known = words === rest ? dependenciesOf(manifestOf(place)) : [...packages];
  return known.includes(named) ? [] : [`the project does not have ${named}`];
}

const helps = new Map<string, string>();

/** Returns what the built command prints for `--help`. */
function readHelp(args: readonly string[]): string {
  const key = args.join(' ');
  const before = helps.get(key);
  if (before !== undefined) return before;
  const help = spawnSync(process.execPath, [...args, '--help'], { cwd: root, encoding: 'utf8' }).stdout;
  helps.set(key, help);
  return help;
}

/** Checks the options of a command of this package. */
function checkOwn(name: string, words: readonly string[]): string[] {
  const file = Object.entries(packageJson.bin).find(([bin]) => bin === name)?.[1] ?? '';
  const command = name === 'payment-journal' ? words.find((word) => !isFlag(word)) : undefined;
  const general = readHelp([file]);
  if (command !== undefined && !new RegExp(`^ +${command}\\b`, 'm').test(general)) {
    return [`${name} has no command ${command}`];
  }
  const help = command === undefined ? general : general + readHelp([file, command]);
  return words
    .filter((word) => /^--\w/.test(word))
    .map((word) => word.replace(/=.*/s, ''))
    .filter((option) => !new RegExp(`^ +${option}(?![\\w-])`, 'm').test(help))
    .map((option) => `${name} has no option ${option}`);
}

function checkCurl(words: readonly string[], place: Place): string[] {
  const local = /^(?:http:\/\/)?(?:127\.0\.0\.1|localhost):\d+(?<path>\/[^?]*)?/;
  const url = words.find((word) => local.test(word));
  if (url === undefined) return ['this curl calls no local server, and no test runs it'];
  const [, first = ''] = (local.exec(url)?.groups?.path ?? '/').split('/');
  const code = readCode(projectOf(place) ?? 'src/sandbox') + readCode('src/sandbox');
  return code.includes(`/${first}`) ? [] : [`no server has ${url}`];
}

function checkDocker(words: readonly string[], place: Place): string[] {
  const file = `${root}${posix.join(place.folder ?? 'none', 'compose.yaml')}`;
  if (words[0] !== 'compose' || !existsSync(file)) return ['this docker command is of no known kind'];
  const [command = '', ...services] = words.slice(1).filter((word) => !isFlag(word));
  const compose = readFileSync(file, 'utf8');
  const named = command === 'exec' ? services.slice(0, 1) : services;
  const own = command === 'exec' ? services.slice(1) : [];
  const bin = own[0] === undefined ? '' : posix.basename(own[0]);
  const all = words.slice(words.indexOf(own[0] ?? '') + 1);
  return [
    ...(['up', 'down', 'exec', 'kill', 'logs', 'ps', 'restart', 'start', 'stop'].includes(command)
      ? []
      : [`docker compose ${command} is of no known kind`]),
    ...named
      .filter((name) => !compose.includes(`\n  ${name}:\n`))
      .map((name) => `there is no service ${name}`),
    ...(bin in packageJson.bin ? checkOwn(bin, all) : []),
  ];
}

const INSTALLED = 'node_modules/payment-collection-client/';

/** A reader copies an example out of the installed package. */
function copy(words: readonly string[], place: Place): string[] {
  const paths = words.filter((word) => !isFlag(word));
  const to = paths.at(-1) ?? '';
  return paths.slice(0, -1).flatMap((path) => {
    const ours = path.slice(INSTALLED.length);
    place.copies.set(posix.join(to, posix.basename(path)), ours);
    const isThere = path.startsWith(INSTALLED) && existsSync(root + ours) && isReachable(ours);
    return isThere ? [] : [`the package has no ${path}`];
  });
}

function changeFolder([to = '']: readonly string[], place: Place): string[] {
  const copied = place.copies.get(posix.normalize(to));
  if (copied !== undefined) {
    place.folder = copied;
    return [];
  }
  const folder = place.folder === undefined ? undefined : posix.join(place.folder, to);
  const isOurs = folder !== undefined && existsSync(root + folder);
  // A folder that the block creates, or the reader has.
  if (!isOurs && place.page.path.startsWith('examples/')) return [`there is no folder ${to}`];
  place.folder = isOurs ? folder : undefined;
  return [];
}

const FILE = /^(?:\.\/)?(?!\$)[\w./-]+\.(?:[cm]?[jt]s|sh|sql)$/;

function checkFiles(words: readonly string[], place: Place): string[] {
  const file = words.find((word) => FILE.test(word));
  return file === undefined ? ['it names no file'] : missing(place, file);
}

/** The kinds of commands, by their program. Each returns what is wrong. */
const kinds: Record<string, (words: readonly string[], place: Place) => string[]> = {
  npm: checkNpm,
  npx: checkNpx,
  'payment-journal': (words) => checkOwn('payment-journal', words),
  'payment-sandbox': (words) => checkOwn('payment-sandbox', words),
  node: checkFiles,
  sh: checkFiles,
  curl: checkCurl,
  docker: checkDocker,
  cd: changeFolder,
  cp: copy,
  // These neither name a part of this repository, nor change one.
  export: () => [],
  echo: () => [],
  mkdir: () => [],
  touch: () => [],
  jq: () => [],
  psql: () => [],
  createdb: () => [],
  temporal: () => [],
};

/** Variables that other programs read. */
const FOREIGN = /^(?:AWS|DENO|NODE)_/;
const ASSIGNMENT = /^(?<name>[A-Z_][A-Z_\d]*)=/;

/** Returns the folder in which a block is run: that of its page, or the root if the block or the sentence before it says so. */
function findStart({ path, text }: Page, line: number, commands: readonly string[][]): string {
  const folder = dirname(path);
  if (!folder.startsWith('examples')) return '.';
  const before = text
    .split('\n')
    .slice(0, line - 2)
    .findLast((other) => other.trim() !== '');
  const [, to = '.'] = commands.find(([program]) => program === 'cd') ?? [];
  const isAtRoot = !existsSync(root + posix.join(folder, to)) && existsSync(root + to);
  return isAtRoot || /folder of the repository|root of the repository/.test(before ?? '') ? '.' : folder;
}

/** Lists what is wrong with the commands of a block: `README.md:12 npm run lost: there is no script lost`. */
export function findFaults({ page, language, line, code }: ShellBlock): string[] {
  const where = `${page.path}:${line}`;
  if (language !== 'sh') return [`${where} is a block of ${language}: write sh`];
  const commands = splitCommands(code);
  const place: Place = { page, folder: findStart(page, line, commands), copies: new Map() };
  const outside: (string | undefined)[] = [];
  return commands.flatMap((command) => {
    if (command[0] === '(') outside.push(place.folder);
    if (command[0] === ')') place.folder = outside.pop();
    if (/^[()]$/.test(command[0] ?? '')) return [];
    const from = command.findIndex((word) => !ASSIGNMENT.test(word));
    const [program, ...words] = from < 0 ? [] : command.slice(from);
    const isOurs = program !== undefined && Object.hasOwn(kinds, program);
    const faults =
      program === undefined || isOurs
        ? [...(kinds[program ?? '']?.(words, place) ?? []), ...findUnknownVariables(command, place)]
        : ['it is of no known kind, and no test runs it'];
    return faults.map((fault) => `${where} ${command.join(' ')}: ${fault}`);
  });
}

/** Lists the variables that a command sets and no code reads. */
function findUnknownVariables(command: readonly string[], place: Place): string[] {
  const names = command
    .flatMap((word) => ASSIGNMENT.exec(word)?.groups?.name ?? [])
    .filter((name) => !FOREIGN.test(name));
  if (names.length === 0) return [];
  const project = projectOf(place) ?? '.';
  const code =
    readCode('src') +
    (project === '.' ? place.page.text : readCode(project) + readCode('examples/workflows/shop'));
  return names
    .filter((name) => !new RegExp(`(?<!\\w)${name}\\b(?!=)`).test(code))
    .map((name) => `nothing reads ${name}`);
}

/** Whether a page names a command of the package without saying where it is installed: `npx` would load another package. */
export function needsInstallation({ text }: Page): boolean {
  if (!/\bnpx (?:--no-install )?payment-(?:sandbox|journal)\b/.test(text)) return false;
  return !/npm (?:install payment-collection-client|install|ci)\b|(?:package|`payment-collection-client`) is installed/.test(
    text,
  );
}
