import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { JournalError, type PaymentsClient } from 'payment-collection-client';
import type { Journal, JournalEntry } from 'payment-collection-client/journal';
import { checkStatus } from './check-status.ts';
import { type EntryPage, entryPage, type Order } from './entry-page.ts';
import { listPage } from './list-page.ts';
import type { Session } from './login.ts';
import { messagePage } from './message-page.ts';
import { paths, pathToEntry } from './paths.ts';
import { readText } from './read-text.ts';
import { resolve } from './resolve.ts';
import { readForm } from './resolve-form.ts';

export interface DeskOptions {
  readonly payments: PaymentsClient;
  /** The journal of that client. */
  readonly journal: Journal;
  /** Returns who is logged in. The person becomes `by` of each resolution. */
  findSession(request: Request): Session | undefined;
  /** Returns what the shop knows of the order of a key: an operator searches the service's records by it. */
  findOrder?(key: string): Promise<Order | undefined>;
}

const PAGE_SIZE = 20;
/** More are not counted. Resolve these first. */
const MAX_LISTED = 1_000;

/** The admin pages on which a person finds and resolves unresolved keys. */
export function createDesk({ payments, journal, findSession, findOrder }: DeskOptions): Router {
  const router = Router();

  const send = (response: Response, status: number, page: { toString(): string }) => {
    response.status(status).send(page.toString());
  };

  /** Every route goes through this: nobody gets a page of the desk without a login. */
  const withSession =
    (handle: (session: Session, request: Request, response: Response) => Promise<void>): RequestHandler =>
    async (request, response) => {
      const session = findSession(request);
      if (session) await handle(session, request, response);
      else if (request.method === 'GET') {
        response.redirect(303, `${paths.login}?next=${encodeURIComponent(request.originalUrl)}`);
      } else send(response, 401, messagePage('Log in again', 'You are not logged in. Nothing was changed.'));
    };

  async function showEntry(
    response: Response,
    session: Session,
    status: number,
    page: Omit<EntryPage, 'order' | 'status'>,
  ): Promise<void> {
    const [order, serviceStatus] = await Promise.all([
      findOrder?.(page.entry.key),
      checkStatus(payments, page.entry),
    ]);
    send(response, status, entryPage({ ...page, order, status: serviceStatus }, session));
  }

  router.get(
    paths.keys,
    withSession(async ({ person }, { query }, response) => {
      const page = Math.max(1, Math.trunc(Number(readText(query, 'page'))) || 1);
      const { entries, problem } = await readUnresolved(journal);
      const shown = entries.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
      const hasNext = entries.length > page * PAGE_SIZE;
      const total = entries.length > MAX_LISTED ? `more than ${MAX_LISTED}` : String(entries.length);
      send(response, 200, listPage({ entries: shown, page, hasNext, total, problem }, person));
    }),
  );

  router.get(
    paths.entry,
    withSession(async (session, { query }, response) => {
      const text = readText(query, 'key');
      const entry = (await journal.read(text)) ?? (await findByReference(journal, text.trim()));
      if (!entry) {
        return send(
          response,
          404,
          messagePage('Not found', 'The journal has no such key or reference.', session.person),
        );
      }
      const isOwn = entry.resolutions.at(-1)?.by === session.person;
      const isJustResolved = isOwn && readText(query, 'resolved') === '1';
      await showEntry(response, session, 200, { entry, isJustResolved });
    }),
  );

  router.post(
    paths.entry,
    express.urlencoded({ limit: '20kb' }),
    withSession(async (session, { body }, response) => {
      const { person, token } = session;
      if (readText(body, 'token') !== token) {
        return send(
          response,
          403,
          messagePage('Open the page again', 'This form is of another login. Nothing was changed.', person),
        );
      }
      const form = readForm(body);
      const result = await resolve({ payments, journal }, form, person);
      if (result.state === 'not_found') {
        return send(
          response,
          404,
          messagePage('Not found', 'The journal has no such key. Nothing was changed.', person),
        );
      }
      if (result.state === 'resolved') return response.redirect(303, `${pathToEntry(form.key)}&resolved=1`);
      const { status, entry, text, otherKey } = result;
      await showEntry(response, session, status, { entry, refused: { text, otherKey, form } });
    }),
  );

  return router;
}

/** Returns the unresolved keys, oldest first. */
async function readUnresolved(journal: Journal): Promise<{ entries: JournalEntry[]; problem?: string }> {
  const entries: JournalEntry[] = [];
  try {
    for await (const entry of journal.list({ state: 'unknown', limit: MAX_LISTED + 1 })) entries.push(entry);
  } catch (error) {
    // Records that cannot be read are reported after all others.
    if (!(error instanceof JournalError)) throw error;
    return { entries, problem: `Not all keys can be shown. ${error.message}` };
  }
  return { entries };
}

async function findByReference(journal: Journal, reference: string): Promise<JournalEntry | undefined> {
  for await (const entry of journal.list({ reference, limit: 1 })) return entry;
  return undefined;
}
