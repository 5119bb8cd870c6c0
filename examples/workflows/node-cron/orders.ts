import type { Transaction } from 'payment-collection-client';
import type { Pool } from 'pg';
import type { ChargeableOrder } from '../shop/charge-order.ts';
import type { NewOrder } from '../shop/orders.ts';

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
        network text NOT NULL, state text NOT NULL DEFAULT 'placed', reference text UNIQUE, note text
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

  async markCharged(id: string, reference: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'waiting', reference = $2 WHERE id = $1 AND state = 'placed'`,
      [id, reference],
    );
  }

  async reject(id: string, note: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'rejected', note = $2 WHERE id = $1 AND state = 'placed'`,
      [id, note],
    );
  }

  async holdForReview(id: string, note: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'in_review', note = $2 WHERE id = $1 AND state IN ('placed', 'waiting', 'released')`,
      [id, note],
    );
  }

  /** A person has resolved the key of an order in review as not charged: it can be charged again. */
  async reopen(id: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'placed', note = NULL WHERE id = $1 AND state = 'in_review'`,
      [id],
    );
  }

  /** Releases the goods. An approval might still come. */
  async release(id: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'released' WHERE id = $1 AND state IN ('placed', 'waiting')`,
      [id],
    );
  }

  /**
   * Ends an order as its payment ended. Any number of calls have the effect of one: the condition holds once, and the parcel
   * is part of the same statement, so of the same transaction.
   */
  async settle(id: string, reference: string, { status }: Transaction): Promise<void> {
    await this.#pool.query(
      `WITH ended AS (
         UPDATE orders SET reference = $2, note = NULL, state = CASE
           WHEN NOT $3 THEN 'released' WHEN state = 'released' THEN 'paid_late' ELSE 'fulfilled' END
         WHERE id = $1 AND (state IN ('placed', 'waiting', 'in_review') OR (state = 'released' AND $3))
         RETURNING id, state)
       INSERT INTO parcels (order_id) SELECT id FROM ended WHERE state = 'fulfilled'`,
      [id, reference, status === 'success'],
    );
  }
}
