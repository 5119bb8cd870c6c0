import { beforeAll, inject } from 'vitest';
import type { DatabaseServer } from './databases.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Responds to each request with the address of a new database, which has the options of the body. */
    readonly newDatabase: string;
  }
}

/** Where a database is. */
export type Database = Pick<DatabaseServer, 'url'>;

/**
 * Creates a database on the PostgreSQL that the files of a run share, with these options of CREATE DATABASE. What it says
 * about the whole server, such as who waits for a lock, is about the other files too.
 */
export async function createDatabase(options = ''): Promise<Database> {
  const response = await fetch(inject('newDatabase'), { method: 'POST', body: options });
  const url = await response.text();
  if (!response.ok) throw new Error(`There is no database: ${url}`);
  return { url };
}

/** Creates a database for all tests of a file, with these options of CREATE DATABASE. */
export function useDatabase(options = ''): Database {
  let created: Database | undefined;
  beforeAll(async () => {
    created = await createDatabase(options);
  });
  return {
    get url() {
      if (!created) throw new Error('The database is there once the tests have begun.');
      return created.url;
    },
  };
}
