import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresJournal } from '../../../src/stores/postgres/index.ts';
import { hasPgBouncer, startPgBouncer } from '../../helpers/pgbouncer.ts';
import { createDatabase } from '../../helpers/use-database.ts';
import { chargeAtOnce } from './charge-at-once.ts';
import { type CountingService, startCountingService } from './counting-service.ts';
import { describeDriver, openPg, openPostgresJs, openPrisma } from './postgres-drivers.ts';

/** PgBouncer in transaction mode, in front of a database of its own. */
async function startPooled() {
  const { url } = await createDatabase();
  const pooler = await startPgBouncer(url);
  return { place: pooler.url, stop: pooler.stop };
}

const options = { start: startPooled, setsIsolation: false };

describe.skipIf(!hasPgBouncer)('through PgBouncer', () => {
  describeDriver('pg', openPg, options);
  describeDriver('postgres.js', (place) => openPostgresJs(place, false), options);
  describeDriver('Prisma', openPrisma, options);

  describe('100 callers', () => {
    let running: Awaited<ReturnType<typeof startPooled>>;
    let service: CountingService;
    beforeAll(async () => {
      service = await startCountingService();
      running = await startPooled();
      const pool = new Pool({ connectionString: running.place });
      await postgresJournal(pool).migrate();
      await pool.end();
    });
    afterAll(async () => {
      await running?.stop();
      await service?.stop();
    });

    test.each(['postgres', 'postgres-js', 'prisma'])('charge one key once through %s', async (kind) => {
      const handles = Array.from({ length: 5 }, () =>
        chargeAtOnce(
          { kind, place: running.place, baseUrl: service.baseUrl, key: kind, callers: 20 },
          async () => {},
        ),
      );
      const results = (await Promise.all(handles)).flat();
      expect(results).toHaveLength(100);
      expect(service.chargesFor(kind)).toHaveLength(1);
      const [reference] = service.chargesFor(kind);
      expect(results.filter((result) => result.reference === reference)).toHaveLength(100);
    });
  });
});
