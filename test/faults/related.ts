/** Finds the test files of a file of the source, by what they import. */

import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import ts from 'typescript';

/** They read the source as text, measure it, or run what is built of it: none of them runs the file with the fault,
 * unless they are its own. */
const OTHER_TESTS =
  /^test\/(?:e2e|explore|faults|simulate|unit\/(?:tree|types|developers|operators\/desk))\//;

/** Returns the test files of a file: those of its folder, then those of the folders that import it at first or second hand, then all others that reach it. */
export function createRelated(): (file: string) => readonly (readonly string[])[] {
  const importers = new Map<string, Set<string>>();
  for (const file of globSync('{src,test}/**/*.ts', { exclude: (path) => path.includes('node_modules') }))
    for (const { fileName } of ts.preProcessFile(readFileSync(file, 'utf8')).importedFiles) {
      if (!fileName.startsWith('.')) continue;
      const imported = normalize(join(dirname(file), fileName));
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  return (file) => {
    const found = new Set([file]);
    // A set yields what is added to it meanwhile.
    for (const reached of found) for (const importer of importers.get(reached) ?? []) found.add(importer);
    const own = toTestFolder(file);
    const isRun = (path: string) => isIn(path, own) || !OTHER_TESTS.test(path);
    const tests = [...found].filter((path) => /\.test\.ts$/.test(path) && isRun(path)).sort();
    const hop = (files: readonly string[]) =>
      files
        .flatMap((imported) => [...(importers.get(imported) ?? [])])
        .filter((path) => path.startsWith('src/'));
    const direct = hop([file]);
    const folders = new Set([...direct, ...hop(direct)].map(toTestFolder));
    const byDistance = Object.groupBy(tests, (test) => {
      if (!isOfStore(test, file)) return 'others';
      if (isIn(test, own)) return 'own';
      if (isIn(test, 'test/promises')) return 'importers';
      return [...folders].some((folder) => isIn(test, folder)) ? 'importers' : 'others';
    });
    return [byDistance.own ?? [], byDistance.importers ?? [], byDistance.others ?? []];
  };
}

const isIn = (test: string, folder: string) => dirname(test).startsWith(folder);

/** A file at the root of the source has tests of its name, or those of the client. */
function toTestFolder(file: string): string {
  const folder = dirname(file).replace(/^src\/?/, '');
  if (folder.startsWith('stores') || folder === 'developers/conformance') return 'test/unit/stores';
  if (folder === 'developers/service') return 'test/unit/developers/mock';
  if (folder !== '') return `test/unit/${folder.replace(/^(developers\/sandbox)\b.*/, '$1')}`;
  const own = basename(file, '.ts');
  return own === 'phone' ? 'test/unit/phone' : 'test/unit/client';
}

const STORES = ['d1', 'durable-object', 'libsql', 'memory', 'mysql', 'postgres', 'redis', 'sqlite'] as const;

/** Returns the store that a file is about; `undefined`: all, or none. */
export const findStore = (file: string) => STORES.find((store) => file.includes(`/${store}`));

/** The tests of one store are not near a file of another one, or of none. */
function isOfStore(test: string, file: string): boolean {
  const store = findStore(file);
  return findStore(test) === store || (store !== undefined && /conformance|store/.test(test));
}
