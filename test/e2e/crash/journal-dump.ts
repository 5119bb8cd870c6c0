import { existsSync, readFileSync } from 'node:fs';
import type { JournalKind } from './journal-kinds.ts';

/** Returns all that a database holds of the journal, as text: to search it for what must not be there. */
export async function dumpJournal(kind: JournalKind, place: string): Promise<string> {
  switch (kind) {
    case 'sqlite':
      return [place, `${place}-wal`]
        .filter((file) => existsSync(file))
        .map((file) => readFileSync(file, 'latin1'))
        .join('\n');
    case 'postgres':
      return await dumpPostgres(place);
    case 'redis':
      return await dumpRedis(place);
    default:
      throw new Error(`There is no dump of ${kind}.`);
  }
}

async function dumpPostgres(connectionString: string): Promise<string> {
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT payments_journal::text AS text FROM payments_journal');
    return rows.map(({ text }) => String(text)).join('\n');
  } finally {
    await client.end();
  }
}

async function dumpRedis(url: string): Promise<string> {
  const { Redis } = await import('ioredis');
  const client = new Redis(url);
  try {
    const keys = await client.keys('*');
    const values = await Promise.all(
      keys.map(async (key) => {
        const type = await client.type(key);
        if (type === 'hash') return JSON.stringify(await client.hgetall(key));
        if (type === 'zset') return JSON.stringify(await client.call('ZRANGE', key, '0', '-1'));
        return String(await client.get(key));
      }),
    );
    return [...keys, ...values].join('\n');
  } finally {
    client.disconnect();
  }
}
