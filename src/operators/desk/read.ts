/** What the pages show, read from the journal and asked of the service. */

import { PaymentsError } from '../../errors.ts';
import type { AttentionItem, JournalEntry } from '../../journal/journal.ts';
import { type RecordName, toStoreKey } from '../../journal/names.ts';
import type { OrderStatus } from '../../orders/index.ts';
import { namePaymentOf, readPayment, readPayments } from '../read-payments.ts';
import type { ReviewDeskOptions } from './options.ts';

/** Where the desk reads, and where it records what is decided. */
export type Sources = Pick<ReviewDeskOptions, 'payments' | 'journal' | 'orderPayments'>;

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
    problem = describeReadError(error);
  }
  const more = items.length > limit && limit < MAX_ITEMS ? Math.min(limit + PAGE, MAX_ITEMS) : undefined;
  return { items: items.slice(0, limit), more, problem };
}

/** Returns the message of an error of this package, which holds no secret. @throws any other error, for the framework to log */
export function describeReadError(error: unknown): string {
  if (error instanceof PaymentsError) return error.message;
  throw error;
}

export interface FoundSubjects {
  readonly names: readonly RecordName[];
  readonly problem: string | undefined;
}

/** Finds an order or a key by the words of a person: `17`, `17/1`, `order-17/1`, `TXN-…`. */
export async function findSubjects({ journal }: Sources, text: string): Promise<FoundSubjects> {
  const found = new Map<string, RecordName>();
  const add = (name: RecordName) => found.set(toStoreKey(name), name);
  let problem: string | undefined;
  try {
    if (/^txn-/i.test(text)) {
      for await (const entry of journal.list({ reference: text, limit: 20 })) add(nameSubject(entry));
    }
    const [, order] = /^(.+)\/\d{1,6}$/su.exec(text) ?? [];
    const names = [text, ...(order === undefined ? [] : [order])].map(
      (id) => ({ kind: 'order', id }) as const,
    );
    for (const name of [...names, { kind: 'key', id: text } as const])
      if (await readPayment((key) => journal.read(key), name, 1)) add(name);
  } catch (error) {
    problem = describeReadError(error);
  }
  return { names: [...found.values()], problem };
}

export const nameSubject = ({ order, key }: Pick<JournalEntry, 'order' | 'key'>): RecordName =>
  order === undefined ? { kind: 'key', id: key } : { kind: 'order', id: order };

/** Returns the query of the page of an order or a key. */
export const linkTo = ({ kind, id }: RecordName) => `?${new URLSearchParams({ [kind]: id })}`;

/** Returns what the page of a query is about; `undefined` if it is none of an order or a key. */
export function parseSubject(query: URLSearchParams): RecordName | undefined {
  const [order, key] = [query.get('order'), query.get('key')];
  if (order) return { kind: 'order', id: order };
  return key ? { kind: 'key', id: key } : undefined;
}

/** Links to a decision, which the page reads from the record: an address alone makes no page say that something was decided. */
export function linkToDone(page: RecordName, { key, resolutions }: JournalEntry): string {
  const number = key === page.id ? '1' : key.slice(page.id.length + 1);
  return `${linkTo(page)}&done=${number}.${resolutions.length}#payment-${number}`;
}

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
export interface Subject extends RecordName {
  readonly payments: readonly ShownPayment[];
  /** Of an order, if the shop has given its order payments. */
  readonly order: OrderStatus | undefined;
  readonly problem: string | undefined;
  /** Which decision was just recorded: the number of the payment, and how many decisions it has since. */
  readonly done: string | undefined;
  readonly status: number;
}

export async function readSubject(sources: Sources, page: RecordName, done?: string): Promise<Subject> {
  const { kind, id } = page;
  const subject = { kind, id, done };
  try {
    const entries = await readPayments((name) => sources.journal.read(name), page);
    const payments = entries.map(async (entry, index) => ({
      name: namePaymentOf(page, index + 1),
      number: index + 1,
      entry,
      asked: await askService(sources, entry),
    }));
    const { status, problem } = kind === 'order' ? await readShownOrder(sources, id) : {};
    return {
      ...subject,
      payments: await Promise.all(payments),
      order: status,
      problem,
      status: entries.length > 0 ? 200 : 404,
    };
  } catch (error) {
    return { ...subject, payments: [], order: undefined, problem: describeReadError(error), status: 503 };
  }
}

async function readShownOrder({ orderPayments }: Sources, id: string) {
  try {
    return { status: await orderPayments?.read(id), problem: undefined };
  } catch (error) {
    return { status: undefined, problem: describeReadError(error) };
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
    return { problem: describeReadError(error) };
  }
}
