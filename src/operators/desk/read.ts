/** What the pages show, read from the journal and asked of the service. */

import { PaymentsError } from '../../errors.ts';
import type { AttentionItem, JournalEntry } from '../../journal/journal.ts';
import type { OrderStatus } from '../../orders/index.ts';
import { namePayment, readPayments } from '../read-payments.ts';
import type { ReviewDeskOptions } from './options.ts';

/** Where the desk reads, and where it records what is decided. */
export type Sources = Pick<ReviewDeskOptions, 'payments' | 'journal' | 'orderPayments'>;

/** What needs a person, oldest first. */
export interface List {
  readonly items: readonly AttentionItem[];
  /** The limit that shows more of them, if there are more. */
  readonly more: number | undefined;
  /** Why this is not all, or nothing. */
  readonly problem: string | undefined;
}

const PAGE = 50;
const MAX_ITEMS = 2_000;

export async function listItems({ journal }: Sources, query: URLSearchParams): Promise<List> {
  const asked = Number(query.get('limit'));
  const limit = asked >= PAGE && asked <= MAX_ITEMS ? Math.floor(asked) : PAGE;
  const items: AttentionItem[] = [];
  let problem: string | undefined;
  try {
    for await (const item of journal.listAttention({ limit: limit + 1 })) items.push(item);
  } catch (error) {
    problem = describeError(error);
  }
  const more = items.length > limit && limit < MAX_ITEMS ? Math.min(limit + PAGE, MAX_ITEMS) : undefined;
  return { items: items.slice(0, limit), more, problem };
}

/** Returns the message of an error of this package, which holds no secret. @throws any other error, for the framework to log */
export function describeError(error: unknown): string {
  if (error instanceof PaymentsError) return error.message;
  throw error;
}

/** Where a search leads. */
export interface FoundSubjects {
  /** The queries of the pages that fit. */
  readonly links: readonly string[];
  readonly problem: string | undefined;
}

/** Finds an order or a key by the words of a person: `17`, `17/1`, `order-17/1`, `TXN-…`. */
export async function findSubjects({ journal }: Sources, text: string): Promise<FoundSubjects> {
  const links = new Set<string>();
  try {
    if (/^txn-/i.test(text)) {
      for await (const { order, key } of journal.list({ reference: text, limit: 20 }))
        links.add(order === undefined ? linkTo('key', key) : linkTo('order', order));
      return { links: [...links], problem: undefined };
    }
    const [, order] = /^(.+)\/\d{1,6}$/su.exec(text) ?? [];
    for (const id of order === undefined ? [text] : [text, order])
      if (await journal.read(`order ${id}/1`)) links.add(linkTo('order', id));
    if (await journal.read(`key ${text}`)) links.add(linkTo('key', text));
    return { links: [...links], problem: undefined };
  } catch (error) {
    return { links: [...links], problem: describeError(error) };
  }
}

/** Returns the query of the page of an order or a key. */
export const linkTo = (kind: 'order' | 'key', id: string) => `?${new URLSearchParams({ [kind]: id })}`;

/** A payment, by the name that it is resolved by. */
export interface ShownPayment {
  readonly name: string;
  readonly number: number;
  readonly entry: JournalEntry;
  /** What the service says of its transaction now, if that was asked. */
  readonly asked: Asked | undefined;
}

export type Asked =
  | { readonly status: string; readonly amount: string; readonly currency: string }
  | { readonly problem: string };

/** An order or a key, with all its payments. */
export interface Subject {
  readonly kind: 'order' | 'key';
  readonly id: string;
  readonly payments: readonly ShownPayment[];
  /** Of an order, if the shop has given its order payments. */
  readonly order: OrderStatus | undefined;
  readonly problem: string | undefined;
  /** Which decision was just recorded: the number of the payment, and how many decisions it has since. */
  readonly done: string | undefined;
  readonly status: number;
}

/** Reads the order or key that a query names; `undefined` if it names none. */
export async function readSubject(sources: Sources, query: URLSearchParams): Promise<Subject | undefined> {
  const order = query.get('order');
  const id = order ?? query.get('key');
  if (!id) return undefined;
  const kind = order ? 'order' : 'key';
  const subject = { kind, id, done: query.get('done') ?? undefined } as const;
  try {
    const entries = await readPayments((name) => sources.journal.read(name), `${kind} ${id}`);
    const payments = entries.map(async (entry, index) => ({
      name: namePayment(`${kind} ${id}`, index + 1),
      number: index + 1,
      entry,
      asked: await askService(sources, entry),
    }));
    const { status, problem } = kind === 'order' ? await readOrder(sources, id) : {};
    return {
      ...subject,
      payments: await Promise.all(payments),
      order: status,
      problem,
      status: entries.length > 0 ? 200 : 404,
    };
  } catch (error) {
    return { ...subject, payments: [], order: undefined, problem: describeError(error), status: 503 };
  }
}

async function readOrder({ orderPayments }: Sources, id: string) {
  try {
    return { status: await orderPayments?.read(id), problem: undefined };
  } catch (error) {
    return { status: undefined, problem: describeError(error) };
  }
}

/** In milliseconds. A service that hangs must not keep a person from the page. */
const ASK_TIMEOUT = 5_000;

/** Asks the service what it says of a transaction that a person has to decide about. It changes nothing. */
async function askService({ payments }: Sources, entry: JournalEntry): Promise<Asked | undefined> {
  const { attention, reference } = entry;
  if (attention === undefined || reference === undefined) return undefined;
  try {
    const { transaction } = await payments.check(reference, { timeout: ASK_TIMEOUT });
    const { status, amount, currency } = transaction;
    return { status, amount, currency };
  } catch (error) {
    return { problem: describeError(error) };
  }
}
