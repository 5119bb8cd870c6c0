import type { Pool } from 'pg';

/** Ends a pool and waits for its connections: `end` does not wait, and a stopping server sends an error to open ones. */
export async function closePool(pool: Pool): Promise<void> {
  const open = Array.from({ length: pool.totalCount }, () => Promise.withResolvers<void>());
  const closing = open.map(({ promise }) => promise);
  pool.on('remove', () => open.pop()?.resolve());
  await pool.end();
  await Promise.all(closing);
}
