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
 * - `rejected`: the service rejected the charge. It is an assumption that no charge exists then.
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
  readonly note: string | null;
}
