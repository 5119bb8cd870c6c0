import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import cookieParser from 'cookie-parser';
import express, { type Request, type RequestHandler, Router } from 'express';
import { loginPage } from './login-page.ts';
import { paths } from './paths.ts';
import { readText } from './read-text.ts';

/** A person who is logged in. */
export interface Session {
  readonly person: string;
  /** Every form sends it back. Another site cannot read it. */
  readonly token: string;
}

/** The part of the shop's login that the desk uses. */
export interface Login {
  /** Reads the cookie. It goes before the routes that call `findSession`. */
  readonly readCookie: RequestHandler;
  readonly router: Router;
  findSession(request: Request): Session | undefined;
}

export interface LoginOptions {
  /** The password of each person, as {@link hashPassword} returns it, by email address. */
  readonly staff: ReadonlyMap<string, string>;
  /** It signs the cookie. */
  readonly secret: string;
  /** Whether the cookie is for https only: always in production. */
  readonly secure: boolean;
}

const COOKIE = 'admin_session';
/** In milliseconds: a shift. */
const SESSION_DURATION = 8 * 60 * 60 * 1000;

/** Stands for the login that a shop has. It limits no attempts, and its sessions are in memory. */
export function createLogin({ staff, secret, secure }: LoginOptions): Login {
  const sessions = new Map<string, Session & { readonly endsAt: number }>();
  // With `strict` a link in an alert would lead a person who is logged in to the login page.
  const cookie = { httpOnly: true, sameSite: 'lax', secure, signed: true, path: paths.admin } as const;

  const readId = (request: Request) => readText(request.signedCookies, COOKIE);
  const findSession = (request: Request) => {
    const id = readId(request);
    const session = sessions.get(id);
    // Who has left the shop is logged out at once.
    if (session && session.endsAt > Date.now() && staff.has(session.person)) return session;
    sessions.delete(id);
    return undefined;
  };

  const router = Router();
  router.get(paths.login, (request, response) => {
    response.send(String(loginPage({ next: findNext(request.query) })));
  });
  router.post(paths.login, express.urlencoded({ limit: '10kb' }), async (request, response) => {
    const person = readText(request.body, 'email').trim().toLowerCase();
    const next = findNext(request.body);
    if (!(await isPassword(readText(request.body, 'password'), staff.get(person)))) {
      response.status(401).send(String(loginPage({ next, email: person, failed: true })));
      return;
    }
    const id = randomBytes(32).toString('base64url');
    const token = randomBytes(32).toString('base64url');
    sessions.set(id, { person, token, endsAt: Date.now() + SESSION_DURATION });
    response.cookie(COOKIE, id, { ...cookie, maxAge: SESSION_DURATION }).redirect(303, next);
  });
  router.post(paths.logout, (request, response) => {
    sessions.delete(readId(request));
    response.clearCookie(COOKIE, cookie).redirect(303, paths.login);
  });

  return { readCookie: cookieParser(secret), router, findSession };
}

/** Returns where to go after the login. It never leads to another site. */
function findNext(fields: unknown): string {
  const next = readText(fields, 'next');
  const base = 'http://admin.invalid';
  if (!URL.canParse(next, base)) return paths.keys;
  // Whatever the host is, only the path counts.
  const { pathname, search } = new URL(next, base);
  return `${pathname}/`.startsWith(`${paths.keys}/`) ? pathname + search : paths.keys;
}

const derive = promisify<string, string, number, Buffer>(scrypt);

/** Returns what is stored of a password. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString('base64url');
  return `${salt}.${(await derive(password, salt, 32)).toString('base64url')}`;
}

/** It takes as long for a person who does not exist, so that nobody learns who does. */
async function isPassword(password: string, stored = 'nobody.'): Promise<boolean> {
  const [salt = '', hash = ''] = stored.split('.');
  const derived = await derive(password, salt, 32);
  const expected = Buffer.from(hash, 'base64url');
  return expected.length === derived.length && timingSafeEqual(expected, derived);
}
