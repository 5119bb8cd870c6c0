/** Makes the tables, charges a key once, replays it and lists it, through a driver and with the built package. */

const [dist, driver, url, baseUrl, key] = process.argv.slice(2);
const { PaymentsClient } = await import(`${dist}/index.js`);
const { fromPostgresJs, fromQuery, postgresJournal } = await import(`${dist}/journal-postgres.js`);

const drivers = {
  async pg() {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({ connectionString: url });
    return { handle: pool, close: () => pool.end() };
  },
  async 'pg through fromQuery'() {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({ connectionString: url });
    return { handle: fromQuery((text, values) => pool.query(text, values)), close: () => pool.end() };
  },
  async 'postgres.js'() {
    const { default: postgres } = await import('postgres');
    const sql = postgres(url);
    return { handle: fromPostgresJs(sql), close: () => sql.end() };
  },
  async 'Bun.SQL'() {
    const sql = new globalThis.Bun.SQL(url);
    return { handle: fromPostgresJs(sql), close: () => sql.end() };
  },
};

const { handle, close } = await drivers[driver]();
const journal = postgresJournal(handle);
await journal.migrate();
const payments = new PaymentsClient({ apiKey: 'sk_test_4vK9qLm2Xw7RtZ', baseUrl, journal, maxRetries: 0 });
const input = {
  amount: '25.50',
  customer_email: 'ama.serwaa@example.com',
  phone: '024 412 3456',
  network: 'mtn',
};
const charge = () => payments.chargeMobileMoney(input, { idempotencyKey: key, extraBody: { order: key } });
const { reference, replayed } = await charge();
const again = await charge();
const listed = [];
for await (const { key, state } of journal.list({ reference })) listed.push([key, state]);
console.log(
  JSON.stringify({
    reference,
    replayed,
    again: { reference: again.reference, replayed: again.replayed },
    listed,
  }),
);
payments.close();
await close();
