/** Writes one record after the other in PGlite, and prints the key of each once it is written, until it is killed. */

import { PGlite } from '@electric-sql/pglite';
import { fromQuery } from '../../../../src/stores/postgres/handles.ts';
import { createPostgresStore } from '../../../../src/stores/postgres/store.ts';
import { postgresSchema } from '../../../../src/stores/postgres/table.ts';

const [place = ''] = process.argv.slice(2);
const db = new PGlite(place);
const handle = fromQuery((text, values) => db.query(text, values));
await handle.runSchema(postgresSchema());
const store = createPostgresStore(handle, 'payments_journal');
for (let index = 0; ; index++) {
  const key = `order ${index}`;
  const change = { expected: null, version: `of ${key}`, text: '{}', mustCommit: true, index: null };
  if (await store.write(key, change)) process.stdout.write(`${key}\n`);
}
