import { existsSync, readdirSync } from 'node:fs';
import type { TestDatabase } from './database.ts';

const folder = new URL('kinds/', import.meta.url);

/** Returns the names of all kinds of databases: those of the files in `kinds/`. */
export function listKinds(): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.slice(0, -'.ts'.length))
    .sort();
}

/** Imports one kind of database, and so only its own driver. */
export async function loadDatabase(kind: string): Promise<TestDatabase> {
  if (!listKinds().includes(kind))
    throw new Error(`There is no database ${kind}. There are: ${listKinds().join(', ')}.`);
  let loaded: object;
  try {
    loaded = await import(new URL(`${kind}.ts`, folder).href);
  } catch (error) {
    if (Object(error).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const install = `npm run test:databases ${kind}`;
    throw new Error(`A driver of ${kind} is not installed. This installs it: ${install}`, { cause: error });
  }
  if ('database' in loaded && isTestDatabase(loaded.database)) return loaded.database;
  throw new Error(`kinds/${kind}.ts must export a TestDatabase as database.`);
}

function isTestDatabase(value: unknown): value is TestDatabase {
  const methods: readonly (keyof TestDatabase)[] = ['start', 'prepare', 'open', 'dump'];
  return methods.every((name) => typeof Object(value)[name] === 'function');
}
