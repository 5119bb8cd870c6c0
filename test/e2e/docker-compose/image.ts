import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join, matchesGlob } from 'node:path';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { run } from './run.ts';

/** What the steps of a Dockerfile have made, in a folder that stands for the root of the image. */
export interface Image {
  readonly base: string;
  /** On this machine. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly command: readonly string[];
}

type OpenImage = { -readonly [Name in keyof Image]: Image[Name] };

/** Runs the steps of the Dockerfile in `context`, in order, below `root`. A step that it does not know is an error. */
export async function buildImage(context: string, root: string, env: NodeJS.ProcessEnv): Promise<Image> {
  const text = readFileSync(join(context, 'Dockerfile'), 'utf8');
  const image: OpenImage = { base: '', workdir: root, env: {}, user: 'root', command: [] };
  for (const instruction of DockerfileParser.parse(text).getInstructions()) {
    await runStep(instruction, image, { context, root, env });
  }
  return image;
}

interface Build {
  readonly context: string;
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

async function runStep(instruction: Instruction, image: OpenImage, build: Build): Promise<void> {
  const values = instruction.getArguments().map((argument) => argument.getValue());
  const [first = ''] = values;
  switch (instruction.getKeyword()) {
    case 'FROM':
      image.base = first;
      break;
    case 'WORKDIR':
      image.workdir = join(build.root, first);
      mkdirSync(image.workdir, { recursive: true });
      break;
    case 'ENV':
      image.env = { ...image.env, ...Object.fromEntries(values.map(parsePair)) };
      break;
    case 'COPY':
      copy(values, image, build);
      break;
    case 'RUN':
      await runShell(instruction.getRawArgumentsContent() ?? '', image, build);
      break;
    case 'USER':
      image.user = first;
      break;
    case 'CMD':
      image.command = JSON.parse(instruction.getRawArgumentsContent() ?? '');
      break;
    default:
      throw new Error(`The tests do not know this step of the Dockerfile: ${instruction.getKeyword()}.`);
  }
}

function parsePair(text: string): [string, string] {
  const [name = '', value = ''] = text.split('=');
  return [name, value];
}

/** Copies what .dockerignore lets through. As in Docker, a name without a wildcard must exist. */
function copy(values: readonly string[], { workdir }: Image, { context }: Build): void {
  const target = values.at(-1) ?? '';
  for (const pattern of values.slice(0, -1)) {
    const found = globSync(pattern, { cwd: context }).filter((name) => isInContext(context, name));
    if (found.length === 0 && !pattern.includes('*')) throw new Error(`COPY finds no ${pattern}.`);
    for (const name of found) cpSync(join(context, name), join(workdir, target, basename(name)));
  }
}

/** Whether .dockerignore lets a file through: its last line that matches decides. */
export function isInContext(context: string, name: string): boolean {
  const lines = readFileSync(join(context, '.dockerignore'), 'utf8').trim().split('\n');
  const last = lines.findLast((line) => matchesGlob(name, line.replace(/^!/, '')));
  return last === undefined || last.startsWith('!');
}

async function runShell(script: string, image: Image, { root, env }: Build): Promise<void> {
  await run('sh', ['-c', script], {
    cwd: image.workdir,
    env: { ...env, ...image.env, PATH: [createPrograms(root), env.PATH].join(delimiter) },
  });
}

/** Creates the programs that need root or the user of the image. Each fails as the real one would. */
function createPrograms(root: string): string {
  const folder = join(dirname(root), 'programs');
  if (existsSync(folder)) return folder;
  mkdirSync(folder);
  const chown = join(folder, 'chown');
  writeFileSync(chown, '#!/bin/sh\n[ "$1" = node:node ] && [ -e "$2" ]\n');
  chmodSync(chown, 0o755);
  return folder;
}
