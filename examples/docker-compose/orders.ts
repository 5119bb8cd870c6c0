import type { Transaction } from 'payment-collection-client';
import type { Pool } from 'pg';

/**
 * - `new`: no payment was started, as far as the shop knows.
 * - `paying`: the customer has the checkout page, or a prompt on the phone.
 * - `paid`, `not_paid`: the final status.
 * - `paid_late`: paid after the deadline. A person ships the order, or pays the money back.
 * - `in_review`: a payment might exist, or something is wrong. A person reviews it.
 */
type OrderState = 'new' | 'paying' | 'paid' | 'not_paid' | 'paid_late' | 'in_review';

export interface Order {
  /** A random id that cannot be guessed, so that it identifies the customer. */
  readonly id: string;
  readonly item: string;
  /** From the shop's own price list, never from the browser. */
  readonly amount: string;
  readonly currency: string;
  readonly state: OrderState;
  readonly reference: string | null;
  readonly checkout_url: string | null;
}

/** The shop's orders, in PostgreSQL. Each change has the state before in its condition, so a repeated call changes nothing. */
export class Orders {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async migrate(): Promise<void> {
    await this.#pool.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), item text NOT NULL, amount text NOT NULL, currency text NOT NULL,
        state text NOT NULL DEFAULT 'new', reference text UNIQUE, checkout_url text, note text
      );
      CREATE TABLE IF NOT EXISTS parcels (number bigserial PRIMARY KEY, order_id uuid NOT NULL REFERENCES orders)`);
  }

  async place(item: string, amount: string, currency: string): Promise<Order> {
    const { rows } = await this.#pool.query<Order>(
      'INSERT INTO orders (item, amount, currency) VALUES ($1, $2, $3) RETURNING *',
      [item, amount, currency],
    );
    const [order] = rows;
    if (!order) throw new Error('The order was not stored.');
    return order;
  }

  async find(id: string): Promise<Order | undefined> {
    const { rows } = await this.#pool.query<Order>('SELECT * FROM orders WHERE id::text = $1', [id]);
    return rows[0];
  }

  /** Stores the payment. A follow-up might have ended the order before: it then stays as it is. */
  async startPayment(id: string, payment: { reference: string; checkout_url?: string }): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'paying', reference = $2, checkout_url = $3 WHERE id = $1 AND state = 'new'`,
      [id, payment.reference, payment.checkout_url ?? null],
    );
  }

  async release(id: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'not_paid' WHERE id = $1 AND state IN ('new', 'paying')`,
      [id],
    );
  }

  async holdForReview(id: string, note: string): Promise<void> {
    await this.#pool.query(
      `UPDATE orders SET state = 'in_review', note = $2 WHERE id = $1 AND state IN ('new', 'paying', 'not_paid')`,
      [id, note],
    );
  }

  /** Ends an order as its payment ended. The parcel is part of the same statement, so of the same transaction. */
  async settle(id: string, reference: string, { status }: Transaction): Promise<void> {
    await this.#pool.query(
      `WITH ended AS (
         UPDATE orders SET reference = $2, note = NULL, state = CASE
           WHEN NOT $3 THEN 'not_paid' WHEN state = 'not_paid' THEN 'paid_late' ELSE 'paid' END
         WHERE id = $1 AND (state IN ('new', 'paying', 'in_review') OR (state = 'not_paid' AND $3))
         RETURNING id, state)
       INSERT INTO parcels (order_id) SELECT id FROM ended WHERE state = 'paid'`,
      [id, reference, status === 'success'],
    );
  }
}
