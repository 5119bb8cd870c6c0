import type { Pool } from 'pg';
import type { ChargeableOrder } from '../shop/charge-order.ts';
import type { NewOrder } from '../shop/order.ts';

/** The shop's table of orders in PostgreSQL. It stands for the table that you have. */
export class Orders {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async createTables(): Promise<void> {
    await this.#pool.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id text PRIMARY KEY, amount text NOT NULL, currency text NOT NULL, customer_email text NOT NULL, phone text NOT NULL,
        network text NOT NULL, state text NOT NULL DEFAULT 'placed'
      );
      CREATE TABLE IF NOT EXISTS parcels (number bigserial PRIMARY KEY, order_id text NOT NULL)`);
  }

  async place({ id, amount, currency, customer_email, phone, network }: NewOrder): Promise<void> {
    await this.#pool.query(
      `INSERT INTO orders (id, amount, currency, customer_email, phone, network) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT DO NOTHING`,
      [id, amount, currency, customer_email, phone, network],
    );
  }

  async find(id: string): Promise<ChargeableOrder | undefined> {
    const { rows } = await this.#pool.query<ChargeableOrder>('SELECT * FROM orders WHERE id = $1', [id]);
    return rows[0];
  }

  /** Releases the goods. An approval might still come. */
  async release(id: string): Promise<void> {
    await this.#pool.query(`UPDATE orders SET state = 'released' WHERE id = $1 AND state = 'placed'`, [id]);
  }

  /** Ships a paid order, once for any number of calls: the parcel is part of the same statement, so of the same transaction. */
  async deliver(id: string): Promise<void> {
    await this.#pool.query(
      `WITH paid AS (
         UPDATE orders SET state = CASE state WHEN 'released' THEN 'paid_late' ELSE 'fulfilled' END
         WHERE id = $1 AND state IN ('placed', 'released')
         RETURNING id, state)
       INSERT INTO parcels (order_id) SELECT id FROM paid WHERE state = 'fulfilled'`,
      [id],
    );
  }
}
