import { DatabaseSync } from 'node:sqlite';
import type { Transaction } from 'payment-collection-client';
import type { NewOrder, Order, OrderState } from './order.ts';

/**
 * The shop's table of orders. It stands for the table that you have. Each change is one statement with the previous state
 * in its condition, so that a step that an engine runs twice changes the order once.
 */
export class Orders {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY, amount TEXT, currency TEXT, customer_email TEXT, phone TEXT, network TEXT,
        state TEXT NOT NULL DEFAULT 'placed', reference TEXT UNIQUE, charged_at INTEGER, note TEXT
      ) STRICT;
      CREATE TABLE IF NOT EXISTS parcels (number INTEGER PRIMARY KEY, order_id TEXT NOT NULL) STRICT;
      CREATE TRIGGER IF NOT EXISTS ship AFTER UPDATE OF state ON orders WHEN new.state = 'fulfilled'
        BEGIN INSERT INTO parcels (order_id) VALUES (new.id); END;
    `);
  }

  place({ id, amount, currency, customer_email, phone, network }: NewOrder): void {
    this.#database
      .prepare(
        `INSERT INTO orders (id, amount, currency, customer_email, phone, network) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
      )
      .run(id, amount, currency, customer_email, phone, network);
  }

  get(id: string): Order {
    const order = this.find(id);
    if (!order) throw new Error(`There is no order ${id}.`);
    return order;
  }

  find(id: string): Order | undefined {
    const row: unknown = this.#database.prepare('SELECT * FROM orders WHERE id = ?').get(id);
    return isOrder(row) ? row : undefined;
  }

  findByReference(reference: string): Order | undefined {
    const row: unknown = this.#database.prepare('SELECT * FROM orders WHERE reference = ?').get(reference);
    return isOrder(row) ? row : undefined;
  }

  /** Orders in these states, the oldest first. */
  listByState(...states: OrderState[]): Order[] {
    const marks = states.map(() => '?').join(', ');
    const rows: unknown[] = this.#database
      .prepare(`SELECT * FROM orders WHERE state IN (${marks}) ORDER BY rowid`)
      .all(...states);
    return rows.filter(isOrder);
  }

  countParcels(id: string): number {
    return this.#database.prepare('SELECT 1 FROM parcels WHERE order_id = ?').all(id).length;
  }

  /** Also after a rejection: of two runs of a step, the first can be rejected and the second charge. */
  markCharged(id: string, reference: string, at: number): void {
    this.#database
      .prepare(
        `UPDATE orders SET state = 'waiting', reference = ?, charged_at = ?, note = NULL
         WHERE id = ? AND state IN ('placed', 'rejected')`,
      )
      .run(reference, at, id);
  }

  reject(id: string, note: string): void {
    this.#move(id, 'rejected', ['placed'], note);
  }

  /** Sets the order aside for a person. */
  holdForReview(id: string, note: string): void {
    this.#move(id, 'in_review', ['placed', 'waiting', 'released'], note);
  }

  /** Releases the goods. The order keeps its reference, because an approval might still come. */
  release(id: string): void {
    this.#move(id, 'released', ['placed', 'waiting']);
  }

  /** Ships a paid order, once for any number of calls: the parcel is part of the same transaction. */
  deliver(id: string): void {
    this.#move(id, 'fulfilled', ['placed']);
    this.#move(id, 'paid_late', ['released']);
  }

  /** Changes the order as its final transaction requires. Any number of calls have the effect of one. */
  applyFinalStatus(id: string, { status, amount, currency }: Transaction): OrderState {
    const order = this.get(id);
    if (status !== 'success') this.release(id);
    else if (amount !== order.amount || currency !== order.currency)
      this.holdForReview(id, `paid ${amount} ${currency} instead of ${order.amount} ${order.currency}`);
    else {
      this.#move(id, 'fulfilled', ['waiting']);
      this.#move(id, 'paid_late', ['released']);
    }
    return this.get(id).state;
  }

  close(): void {
    this.#database.close();
  }

  #move(id: string, to: OrderState, from: OrderState[], note: string | null = null): void {
    const marks = from.map(() => '?').join(', ');
    this.#database
      .prepare(`UPDATE orders SET state = ?, note = ? WHERE id = ? AND state IN (${marks})`)
      .run(to, note, id, ...from);
  }
}

function isOrder(row: unknown): row is Order {
  return typeof row === 'object' && row !== null && 'id' in row && 'state' in row;
}
