import type { Transaction } from 'payment-collection-client';
import type { Pool } from 'pg';
import type { NewOrder, OrderState } from '../shop/orders.ts';

export interface StoredOrder extends NewOrder {
  readonly state: OrderState;
  readonly reference: string | null;
  readonly placed_at: Date;
  readonly charged_at: Date | null;
}

/**
 * The shop's table of orders in PostgreSQL. Each change is one statement with the previous state in its condition, so that a
 * step that AWS runs twice changes the order once.
 */
export class Orders {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async createTables(): Promise<void> {
    await this.#pool.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id text PRIMARY KEY, amount text NOT NULL, currency text NOT NULL, customer_email text NOT NULL, phone text NOT NULL,
        network text NOT NULL, state text NOT NULL DEFAULT 'placed', reference text UNIQUE,
        placed_at timestamptz NOT NULL DEFAULT now(), charged_at timestamptz, note text,
        callback_id text, notifications integer NOT NULL DEFAULT 0, notified_at timestamptz NOT NULL DEFAULT 'epoch'
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

  async get(id: string): Promise<StoredOrder> {
    const { rows } = await this.#pool.query<StoredOrder>('SELECT * FROM orders WHERE id = $1', [id]);
    const [order] = rows;
    if (!order) throw new Error(`There is no order ${id}.`);
    return order;
  }

  /** Orders that were stored and not charged, the oldest first. */
  async listPlaced(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ id: string }>(
      `SELECT id FROM orders WHERE state = 'placed' ORDER BY placed_at LIMIT 1000`,
    );
    return rows.map(({ id }) => id);
  }

  /** `at`: when it was charged, in epoch milliseconds. */
  async markCharged(id: string, reference: string, at: number): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'waiting', reference = $2, charged_at = $3 WHERE id = $1 AND state = 'placed'`,
      [id, reference, new Date(at)],
    );
  }

  async reject(id: string, note: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'rejected', note = $2 WHERE id = $1 AND state = 'placed'`,
      [id, note],
    );
  }

  /** Sets the order aside for a person. No code changes it afterwards. */
  async holdForReview(id: string, note: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'in_review', note = $2 WHERE id = $1 AND state IN ('placed', 'waiting', 'released')`,
      [id, note],
    );
  }

  /** Releases the goods. The order keeps its reference, because an approval might still come. */
  async release(id: string): Promise<void> {
    await this.#pool.query(`UPDATE orders SET state = 'released' WHERE id = $1 AND state = 'waiting'`, [id]);
  }

  /**
   * Changes the order as its final transaction requires. Any number of calls have the effect of one: the condition holds
   * once, and the parcel is part of the same statement.
   */
  async applyFinalStatus(id: string, { status, amount, currency }: Transaction): Promise<void> {
    await this.#pool.query(
      `WITH ended AS (
         UPDATE orders SET
           note = CASE WHEN $2 AND (amount, currency) <> ($3, $4) THEN 'paid ' || $3 || ' ' || $4 END,
           state = CASE
             WHEN NOT $2 THEN 'released' WHEN (amount, currency) <> ($3, $4) THEN 'in_review'
             WHEN state = 'released' THEN 'paid_late' ELSE 'fulfilled' END
         WHERE id = $1 AND state IN ('waiting', 'released')
         RETURNING id, state)
       INSERT INTO parcels (order_id) SELECT id FROM ended WHERE state = 'fulfilled'`,
      [id, status === 'success', amount, currency],
    );
  }

  /** Stores the id by which a webhook ends the present wait. */
  async storeCallback(id: string, callbackId: string): Promise<void> {
    await this.#pool.query('UPDATE orders SET callback_id = $2 WHERE id = $1', [id, callbackId]);
  }

  /**
   * Counts a notification, and returns the callback that it ends: `undefined` if no order waits for it, or if there were too
   * many. Anyone can send one to a webhook, and each one that counts is a request to the service.
   */
  async countNotification(reference: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ callback_id: string }>(
      `UPDATE orders SET notifications = notifications + 1, notified_at = now()
       WHERE reference = $1 AND state IN ('waiting', 'released') AND callback_id IS NOT NULL
         AND notifications < 100 AND notified_at < now() - interval '10 seconds'
       RETURNING callback_id`,
      [reference],
    );
    return rows[0]?.callback_id;
  }
}
