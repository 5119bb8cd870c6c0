import type { Transaction } from 'payment-collection-client';

/** An order with what the charge needs. */
export interface NewOrder {
  readonly id: string;
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  readonly customer_email: string;
  readonly phone: string;
  readonly network: 'mtn' | 'telecel' | 'airteltigo';
}

/**
 * - `placed`: not charged yet, as far as the shop knows.
 * - `waiting`: charged. The customer has a prompt on the phone.
 * - `fulfilled`: paid and shipped.
 * - `released`: not paid in time. The goods are for sale again.
 * - `paid_late`: paid after the release. A person ships the order, or pays the money back.
 * - `in_review`: a charge might exist, or its amount is wrong. A person reviews it.
 * - `rejected`: the service rejected the charge. That no charge exists then is an assumption.
 */
export type OrderState =
  | 'placed'
  | 'waiting'
  | 'fulfilled'
  | 'released'
  | 'paid_late'
  | 'in_review'
  | 'rejected';

export interface Order extends NewOrder {
  readonly state: OrderState;
  readonly reference: string | null;
  /** Epoch milliseconds. */
  readonly charged_at: number | null;
}

/** A notification counts if the one before it is older than this, in milliseconds. */
const NOTIFICATION_INTERVAL = 10_000;
/** Each notification costs two of the steps that a workflow can have: 1,024 on the free plan. */
const MAX_NOTIFICATIONS = 100;

/**
 * The shop's table of orders in D1. Each change is one statement with the previous state in its condition, so that a step
 * that the engine runs twice changes the order once.
 */
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

  find(id: string): Promise<Order | null> {
    return this.#database.prepare('SELECT * FROM orders WHERE id = ?').bind(id).first<Order>();
  }

  async get(id: string): Promise<Order> {
    const order = await this.find(id);
    if (!order) throw new Error(`There is no order ${id}.`);
    return order;
  }

  /** At most 100 orders that were stored and not charged, the oldest first. */
  async listPlaced(): Promise<string[]> {
    const { results } = await this.#database
      .prepare(`SELECT id FROM orders WHERE state = 'placed' ORDER BY rowid LIMIT 100`)
      .all<{ id: string }>();
    return results.map(({ id }) => id);
  }

  async markCharged(id: string, reference: string, at: number): Promise<void> {
    await this.#run(
      `UPDATE orders SET state = 'waiting', reference = ?, charged_at = ? WHERE id = ? AND state = 'placed'`,
      [reference, at, id],
    );
  }

  /**
   * Counts a notification, and returns the id of its order: `null` if no order waits for it, or if there were too many.
   * Anyone can send one to a webhook, and each one that counts is a request to the service.
   */
  async countNotification(reference: string): Promise<string | null> {
    return await this.#database
      .prepare(
        `UPDATE orders SET notifications = notifications + 1, notified_at = ?1
         WHERE reference = ?2 AND state IN ('waiting', 'released')
           AND notifications < ${MAX_NOTIFICATIONS} AND notified_at <= ?1 - ${NOTIFICATION_INTERVAL}
         RETURNING id`,
      )
      .bind(Date.now(), reference)
      .first<string>('id');
  }

  async reject(id: string, note: string): Promise<void> {
    await this.#move(id, 'rejected', ['placed'], note);
  }

  /** Sets the order aside for a person. No code changes it afterwards. */
  async holdForReview(id: string, note: string): Promise<void> {
    await this.#move(id, 'in_review', ['placed', 'waiting', 'released'], note);
  }

  /** Releases the goods. The order keeps its reference, because an approval might still come. */
  async release(id: string): Promise<void> {
    await this.#move(id, 'released', ['waiting']);
  }

  /** Changes the order as its final transaction requires. Any number of calls have the effect of one. */
  async applyFinalStatus(order: Order, { status, amount, currency }: Transaction): Promise<void> {
    if (status !== 'success') await this.release(order.id);
    else if (amount !== order.amount || currency !== order.currency)
      await this.holdForReview(
        order.id,
        `paid ${amount} ${currency} instead of ${order.amount} ${order.currency}`,
      );
    else {
      await this.#move(order.id, 'fulfilled', ['waiting']);
      await this.#move(order.id, 'paid_late', ['released']);
    }
  }

  async #move(id: string, to: OrderState, from: OrderState[], note: string | null = null): Promise<void> {
    const marks = from.map(() => '?').join(', ');
    await this.#run(`UPDATE orders SET state = ?, note = ? WHERE id = ? AND state IN (${marks})`, [
      to,
      note,
      id,
      ...from,
    ]);
  }

  async #run(sql: string, values: readonly (string | number | null)[]): Promise<void> {
    await this.#database
      .prepare(sql)
      .bind(...values)
      .run();
  }
}
