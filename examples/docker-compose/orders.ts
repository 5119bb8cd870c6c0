import type { Pool } from 'pg';

export interface Order {
  /** A random id that cannot be guessed, so that it identifies the customer. */
  readonly id: string;
  readonly item: string;
  /** From the shop's own price list, never from the browser. */
  readonly amount: string;
  readonly currency: string;
}

/** The shop's orders, in PostgreSQL. The journal beside them knows how far each payment is. */
export class Orders {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async migrate(): Promise<void> {
    await this.#pool.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), item text NOT NULL, amount text NOT NULL, currency text NOT NULL
      );
      CREATE TABLE IF NOT EXISTS parcels (order_id uuid PRIMARY KEY REFERENCES orders)`);
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

  /** Delivers an order, once for any number of calls. */
  async deliver(id: string): Promise<void> {
    await this.#pool.query('INSERT INTO parcels (order_id) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
  }
}
