import { expect, test } from 'vitest';
import { fromQuery, postgresJournal } from '../../../src/journal/postgres.ts';
import { database } from './kinds/neon.ts';
import { openNeonHttp, openNeonPool, startNeon } from './neon-proxy.ts';
import { describeDriver, transactOn } from './postgres-handle-tests.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('neon', database, { statementsOf: 'postgres' });

describeDriver('the Pool of Neon', startNeon, (place) => {
  const pool = openNeonPool(place);
  return {
    handle: fromQuery((text, values) => pool.query(text, values)),
    transact: (use) =>
      transactOn(
        () => pool.connect(),
        (client) => use(fromQuery((text, values) => client.query(text, values))),
      ),
    close: () => pool.end(),
  };
});

test('postgresJournal names fromQuery for the HTTP client as it is', () => {
  const sql = openNeonHttp('postgres://merchant:merchant@127.0.0.1/shop?neon_proxy=1');
  expect(() => Reflect.apply(postgresJournal, undefined, [sql])).toThrow('Use fromQuery(');
});
