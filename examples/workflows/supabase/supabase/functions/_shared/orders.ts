import type { Transaction } from 'payment-collection-client';
import type { Pool } from 'pg';

/**
 * - `new`: not charged, as far as the shop knows.
 * - `pending`: charged. The customer has a prompt on the phone.
 * - `paid`, `not_paid`: the final status.
 * - `paid_late`: paid after the deadline. A person ships the order, or pays the money back.
 * - `in_review`: a charge might exist, or something is wrong. A person reviews it.
 */
export type OrderState = 'new' | 'pending' | 'paid' | 'not_paid' | 'paid_late' | 'in_review';

export interface Order {
  readonly id: string;
  readonly amount: string;
  readonly currency: string;
  readonly customer_email: string;
  readonly phone: string;
  readonly network: 'mtn' | 'telecel' | 'airteltigo';
  readonly state: OrderState;
}

/** For your migrations. */
export const ordersSchema = `
  CREATE TABLE IF NOT EXISTS orders (
    id text PRIMARY KEY, amount text NOT NULL, currency text NOT NULL, customer_email text NOT NULL, phone text NOT NULL,
    network text NOT NULL, state text NOT NULL DEFAULT 'new', reference text UNIQUE, note text
  );
  CREATE TABLE IF NOT EXISTS parcels (number bigserial PRIMARY KEY, order_id text NOT NULL)`;

/** Each change is one statement with the state before in its condition, so a repeated call changes nothing. */
export class Orders {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async find(id: string): Promise<Order | undefined> {
    const { rows } = await this.#pool.query<Order>('SELECT * FROM orders WHERE id = $1', [id]);
    return rows[0];
  }

  async markCharged(id: string, reference: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'pending', reference = $2 WHERE id = $1 AND state = 'new'`,
      [id, reference],
    );
  }

  async markNotPaid(id: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'not_paid' WHERE id = $1 AND state IN ('new', 'pending')`,
      [id],
    );
  }

  async holdForReview(id: string, note: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'in_review', note = $2 WHERE id = $1 AND state IN ('new', 'pending', 'not_paid')`,
      [id, note],
    );
  }

  /** A person has resolved the key of an order in review as not charged: it can be charged again. */
  async reopen(id: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'new', note = NULL WHERE id = $1 AND state = 'in_review'`,
      [id],
    );
  }

  /** Ends an order as its payment ended. The parcel is part of the same statement, so of the same transaction. */
  async settle(id: string, reference: string, { status }: Transaction): Promise<void> {
    await this.#pool.query(
      `WITH ended AS (
         UPDATE orders SET reference = $2, note = NULL, state = CASE
           WHEN NOT $3 THEN 'not_paid' WHEN state = 'not_paid' THEN 'paid_late' ELSE 'paid' END
         WHERE id = $1 AND (state IN ('new', 'pending', 'in_review') OR (state = 'not_paid' AND $3))
         RETURNING id, state)
       INSERT INTO parcels (order_id) SELECT id FROM ended WHERE state = 'paid'`,
      [id, reference, status === 'success'],
    );
  }
}
