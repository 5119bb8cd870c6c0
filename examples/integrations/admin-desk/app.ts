import { join } from 'node:path';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { JournalError } from 'payment-collection-client';
import { createDesk, type DeskOptions } from './desk.ts';
import { createLogin, type LoginOptions } from './login.ts';
import { messagePage } from './message-page.ts';
import { paths } from './paths.ts';
import { refuseOtherOrigins, setSecurityHeaders } from './protect.ts';

/** The admin part of a shop on Express 5: its login, and behind it the desk. */
export function createApp(
  options: Omit<DeskOptions, 'findSession'> & Pick<LoginOptions, 'staff' | 'secret'>,
): Express {
  const app = express();
  app.disable('x-powered-by');
  const login = createLogin({ ...options, secure: app.get('env') === 'production' });
  app.use(paths.admin, setSecurityHeaders, refuseOtherOrigins, login.readCookie);
  for (const path of [paths.style, paths.icon]) {
    app.get(path, (_request, response) => {
      // The browser keeps it, and asks whether it has changed.
      response.set('cache-control', 'no-cache');
      response.sendFile(join(import.meta.dirname, path.slice(paths.admin.length)));
    });
  }
  app.use(login.router);
  app.use(createDesk({ ...options, findSession: login.findSession }));
  app.get('/', (_request, response) => response.redirect(303, paths.keys));

  const onError: ErrorRequestHandler = (error, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof JournalError) {
      const text = "The shop's database could not be read. Try again in a minute.";
      return response.status(503).send(String(messagePage('Not available', text)));
    }
    // The staff sees no details: they are for an engineer.
    console.error(error);
    const text = 'Something failed. Open the key again to see what is recorded.';
    response.status(500).send(String(messagePage('Error', text)));
  };
  app.use(onError);
  return app;
}
