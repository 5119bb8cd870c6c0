import type { ChargeableOrder } from '../shop/charge-order.ts';
import type { NewOrder } from '../shop/order.ts';

/** The shop's table of orders in D1. Each change is one statement with the previous state in its condition. */
export class Orders {
  readonly #database: D1Database;

  constructor(database: D1Database) {
    this.#database = database;
  }

  async place({ id, amount, currency, customer_email, phone, network }: NewOrder): Promise<void> {
    await this.#run(
      `INSERT INTO orders (id, amount, currency, customer_email, phone, network) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      [id, amount, currency, customer_email, phone, network],
    );
  }

  async find(id: string): Promise<ChargeableOrder | undefined> {
    const statement = this.#database.prepare('SELECT * FROM orders WHERE id = ?').bind(id);
    return (await statement.first<ChargeableOrder>()) ?? undefined;
  }

  /** Releases the goods. An approval might still come. */
  async release(id: string): Promise<void> {
    await this.#run(`UPDATE orders SET state = 'released' WHERE id = ? AND state = 'placed'`, [id]);
  }

  /** Ships a paid order, once for any number of calls: the parcel is part of the same statement. */
  async deliver(id: string): Promise<void> {
    await this.#run(
      `UPDATE orders SET state = CASE state WHEN 'released' THEN 'paid_late' ELSE 'fulfilled' END
       WHERE id = ? AND state IN ('placed', 'released')`,
      [id],
    );
  }

  async #run(sql: string, values: readonly string[]): Promise<void> {
    await this.#database
      .prepare(sql)
      .bind(...values)
      .run();
  }
}
