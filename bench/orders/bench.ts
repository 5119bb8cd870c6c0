import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { PaymentsClient } from '../../src/index.ts';
import { createOrderPayments } from '../../src/orders/index.ts';
import { postgresJournal } from '../../src/stores/postgres/index.ts';
import { startPostgres } from '../../test/helpers/databases.ts';
import { conditions } from '../conditions.ts';
import { printTable, ratio } from '../table.ts';

const input = {
  amount: '25.50',
  customer_email: 'ama@example.com',
  phone: '024 412 3456',
  network: 'mtn',
} as const;

/** Steps that belong together, one after the other for each order. */
type Way = readonly { readonly name: string; readonly run: (order: string) => Promise<unknown> }[];

/** What is measured, and what it costs for each order. */
interface Row {
  readonly name: string;
  /** Microseconds: the least of the rounds. */
  time: number;
  cpu: number;
  /** Statements, each of them one round trip. */
  statements: number;
}

/** Measures a press, a second press and a read of an order, beside a charge under a key and one by hand, on PostgreSQL. */
export async function benchOrders(args: string[]): Promise<void> {
  const options = {
    rounds: { type: 'string', default: '5' },
    orders: { type: 'string', default: '100' },
  } as const;
  const { values } = parseArgs({ args, options });
  const [rounds, orders] = [Number(values.rounds), Number(values.orders)];
  console.log(
    `${conditions()} One at a time, ${rounds} rounds of ${orders} orders; a figure is the least of the rounds. CPU is the\n` +
      "client's alone. The service is in another process, over loopback; PostgreSQL waits for the disk at each commit.\n" +
      'Each order turns the order of the ways round.',
  );
  await using closing = new AsyncDisposableStack();
  const service = fork(new URL('../journal/service.ts', import.meta.url), { execArgv: [] });
  closing.defer(() => {
    service.kill();
  });
  const [{ port }] = await once(service, 'message');
  const server = await startPostgres();
  closing.defer(() => server.stop());
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  closing.defer(() => client.end());

  let statements = 0;
  const query = (text: string, values: unknown[] = []) => {
    statements += 1;
    return client.query(text, values);
  };
  const journal = postgresJournal({ query, getTransactionStatus: () => client.getTransactionStatus() });
  await journal.migrate();
  await query('CREATE TABLE orders (id text PRIMARY KEY, state text NOT NULL, reference text)');
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  using payments = new PaymentsClient({ apiKey: 'sk_test_bench', baseUrl, journal });
  const { charge, read } = createOrderPayments({
    payments,
    journal,
    onPaid: () => {},
    onAttention: () => {},
  });

  /** What a shop writes without the package: one row, locked while it decides. */
  const byHand = async (order: string) => {
    await query('BEGIN');
    await query("INSERT INTO orders VALUES ($1, 'new') ON CONFLICT DO NOTHING", [order]);
    const { rows } = await query('SELECT state FROM orders WHERE id = $1 FOR UPDATE', [order]);
    if (rows[0]?.state !== 'new') throw new Error('charged already');
    await query("UPDATE orders SET state = 'charging' WHERE id = $1", [order]);
    await query('COMMIT');
    const { reference } = await payments.chargeMobileMoney(input, { idempotencyKey: null });
    await query("UPDATE orders SET state = 'pending', reference = $2 WHERE id = $1", [order, reference]);
  };
  const ways: readonly Way[] = [
    [{ name: 'by hand, SELECT … FOR UPDATE', run: byHand }],
    [
      {
        name: 'chargeMobileMoney with a key',
        run: (order) => payments.chargeMobileMoney(input, { idempotencyKey: `key-${order}` }),
      },
    ],
    // What follows a press is a part of its turn: a press checks a payment that is older than a second.
    [
      { name: 'a press that starts a payment', run: (order) => charge(order, input) },
      { name: 'a press that finds it processing', run: (order) => charge(order, input) },
      { name: 'a read', run: (order) => read(order) },
    ],
  ];
  const measured: Row[][] = [];
  for (let round = 0; round <= rounds; round++) {
    const takeStatements = () => {
      const taken = statements;
      statements = 0;
      return taken;
    };
    const row = await measureRound(ways, { round, orders, takeStatements });
    // The first round warms up.
    if (round > 0) measured.push(row);
  }
  const rows = createRows(ways).map((row, index) => {
    const least = (field: 'time' | 'cpu' | 'statements') =>
      Math.min(...measured.map((round) => round[index]?.[field] ?? Number.NaN));
    return { ...row, time: least('time'), cpu: least('cpu'), statements: least('statements') };
  });
  const [first] = rows;
  printTable('One order on PostgreSQL', rows, [
    ['what', ({ name }) => name],
    ['us', ({ time }) => time],
    ['to by hand', ({ time }) => ratio(time, first?.time)],
    ['CPU us', ({ cpu }) => cpu],
    ['to by hand', ({ cpu }) => ratio(cpu, first?.cpu)],
    ['statements', ({ statements }) => statements],
  ]);
}

const createRows = (ways: readonly Way[]): Row[] =>
  ways.flat().map(({ name }) => ({ name, time: 0, cpu: 0, statements: 0 }));

/** Measures each step for so many orders. Each order turns the order of the ways round. */
async function measureRound(
  ways: readonly Way[],
  { round, orders, takeStatements }: { round: number; orders: number; takeStatements: () => number },
): Promise<Row[]> {
  const rows = createRows(ways);
  const turns = ways.map((way) =>
    way.map(({ name, run }) => ({ run, row: rows.find((row) => row.name === name) })),
  );
  for (let order = 0; order < orders; order++)
    for (const { run, row } of (order % 2 === 0 ? turns : turns.toReversed()).flat()) {
      takeStatements();
      const before = process.cpuUsage();
      const startedAt = performance.now();
      await run(`${round}-${order}`);
      if (!row) continue;
      row.time += ((performance.now() - startedAt) * 1_000) / orders;
      const { user, system } = process.cpuUsage(before);
      row.cpu += (user + system) / orders;
      row.statements += takeStatements() / orders;
    }
  return rows;
}
