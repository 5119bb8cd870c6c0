import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { findFloor, floors } from '../../helpers/floors.ts';

/** Each part of the repository, and the parts that its files can import. The first pattern that fits counts. */
const parts: [part: RegExp, imports: RegExp][] = [
  [/^src\//, /^src\//],
  [/^test\/helpers\//, /^(?:src|test\/helpers)\/|^package\.json$/],
  [/^bench\//, /^(?:src|test\/helpers|bench)\//],
  [
    /^test\/(?:unit|property|promises)\//,
    /^(?:src|test\/(?:helpers|unit|property))\/|^(?:package\.json|test\/faults\/faults\.ts)$/,
  ],
  [/^test\/explore\//, /^(?:src\/ledger|test\/(?:helpers|explore))\//],
  [/^test\/faults\//, /^test\/faults\//],
  [/^test\/walks\//, /^(?:src|test\/walks)\//],
  [/^test\/simulate\//, /^(?:src|test\/(?:helpers|simulate))\//],
  // It runs the built package on Bun and Deno.
  [/^test\/e2e\/databases\/programs\/charge-once\.mjs$/, /^dist\//],
  [/^test\/e2e\/\w+\/vitest\.config\.ts$/, /^test\/common\.ts$/],
  // The examples that the workflow tests run bring their own types.
  [
    /^test\/e2e\//,
    /^(?:src|bench|test\/(?:helpers|e2e|unit)|examples\/(?:demo|workflows\/shop|journals))\/|^package\.json$/,
  ],
  [/^test\/[^/]+\.ts$/, /^test\/(?:helpers\/)?[^/]+\.ts$/],
];

/** These run the tests of another folder again, over `undiciTransport`. */
const RUNS_OTHER_TESTS = /^test\/unit\/node\//;

interface Import {
  file: string;
  imported: string;
  /** Whether nothing of it is loaded. */
  isType: boolean;
}

/** The client of Prisma. It exists only once the packages of that folder are installed. */
const GENERATED = 'test/e2e/databases/generated';

const files = globSync('{src,bench,test}/**/*.{ts,js,mjs}', {
  exclude: (path) => path.includes('node_modules') || path.startsWith(GENERATED),
});
const imports = files.flatMap(readImports);

/** The relative imports of a file, dynamic ones too. */
function readImports(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  return ts
    .preProcessFile(text)
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => ({
      file,
      imported: normalize(join(dirname(file), fileName)),
      isType: new RegExp(`import type [^;]*? from '${fileName.replace(/[./]/g, '\\$&')}'`).test(text),
    }))
    .filter(({ imported }) => !imported.startsWith(GENERATED));
}

/** The folder of a file of the source, or its name at the root. */
const toPart = (file: string) =>
  dirname(file) === 'src' ? file.slice('src/'.length, -'.ts'.length) : dirname(file).slice('src/'.length);
const isTest = (file: string) => /\.test(?:-d)?\.ts$/.test(file);

test('finds every import of the source, the benchmarks and the tests', () => {
  for (const folder of ['src/', 'bench/', 'test/helpers/', 'test/unit/', 'test/property/', 'test/e2e/'])
    expect(imports.filter(({ file }) => file.startsWith(folder)).length, folder).toBeGreaterThan(4);
  expect(imports.filter(({ imported }) => !existsSync(imported))).toEqual([]);
});

describe('the source', () => {
  const own = imports.filter(({ file }) => file.startsWith('src/'));

  test('has a floor for every file, and a file for every part of a floor', () => {
    const sources = files.filter((file) => file.startsWith('src/'));
    expect(sources.filter((file) => findFloor(file) === -1)).toEqual([]);
    const parts = floors.flatMap((floor) => floor.parts);
    expect(parts.filter((part) => !existsSync(`src/${part}`) && !existsSync(`src/${part}.ts`))).toEqual([]);
  });

  test('imports from the same floor or from below', () => {
    expect(own.filter(({ file, imported }) => findFloor(imported) > findFloor(file))).toEqual([]);
  });

  // Assets and pages are parts of the sandbox.
  const folders = [...new Set(own.map(({ file }) => dirname(file)))].filter(
    (folder) => folder !== 'src' && !/\/sandbox\/./.test(folder),
  );

  test('has a head in each folder, which says where to start and what is imported', () => {
    expect(folders.length).toBeGreaterThan(20);
    for (const folder of folders) {
      const head = readFileSync(join(folder, 'README.md'), 'utf8');
      const imported = own
        .filter(
          ({ file }) =>
            file.startsWith(`${folder}/`) && (dirname(file) === folder || /\/sandbox\//.test(file)),
        )
        .map((one) => toPart(one.imported))
        .filter((part) => `src/${part}` !== folder && !`src/${part}`.startsWith(`${folder}/`));
      const said = [...(/^- Imports: (.*)\.$/m.exec(head)?.[1]?.matchAll(/`([^`]+)`/g) ?? [])].map(
        ([, part]) => part,
      );
      expect(said, folder).toEqual([...new Set(imported)].sort());
      const [, start = ''] = /^- Start with: .*?`([^`]+)`/m.exec(head) ?? [];
      expect(existsSync(join(folder, start)) && start !== '', `${folder}: ${start}`).toBe(true);
    }
  });

  test('has rules that import nothing but zod and the schedule', () => {
    const rules = files.filter((file) => file.startsWith('src/ledger/'));
    const imported = rules.flatMap((file) => ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles);
    expect(rules.length).toBeGreaterThan(5);
    expect(
      imported.filter(({ fileName }) => !/^(?:zod\/mini|\.\.\/schedule\.ts|\.\/[a-z]+\.ts)$/.test(fileName)),
    ).toEqual([]);
  });

  test('builds the mock on the API, not on the client that it tests', () => {
    const above = own.filter(
      ({ file, imported }) =>
        /^src\/developers\/(?:service|mock)\//.test(file) && /^src\/(?:client|http|index)\b/.test(imported),
    );
    expect(above).toEqual([]);
  });
});

describe('the repository', () => {
  test('imports from the same part or from below', () => {
    const wrong = imports.filter(({ file, imported }) => {
      const [, allowed] = parts.find(([part]) => part.test(file)) ?? [];
      return !allowed?.test(imported);
    });
    expect(wrong).toEqual([]);
  });

  test('never imports a test', () => {
    const wrong = imports.filter(({ file, imported }) => isTest(imported) && !RUNS_OTHER_TESTS.test(file));
    expect(wrong).toEqual([]);
  });

  test('has no circle of imports', () => {
    expect(findCircles()).toEqual([]);
  });
});

/** Each circle of imports, as the files on it. In the source, imports of types count too. */
function findCircles(): string[][] {
  const counted = imports.filter(({ file, isType }) => file.startsWith('src/') || !isType);
  const byFile = Map.groupBy(counted, ({ file }) => file);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[][] => {
    const start = path.indexOf(file);
    if (start >= 0) return [[...path.slice(start), file]];
    if (done.has(file)) return [];
    path.push(file);
    const circles = (byFile.get(file) ?? []).flatMap(({ imported }) => visit(imported));
    path.pop();
    done.add(file);
    return circles;
  };
  return files.flatMap(visit);
}
