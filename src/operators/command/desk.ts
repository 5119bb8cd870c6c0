import { randomBytes } from 'node:crypto';
import { ListenError, listen, serve, stop, urlOf } from '../../ui/server.ts';
import { createReviewDesk } from '../desk/index.ts';
import { type Arguments, refuseKeys, usageError } from './arguments.ts';
import type { Run } from './config.ts';
import { CommandError } from './errors.ts';

const HOST = '127.0.0.1';

/** Serves the review desk on this machine, to the one who opens its address first, until Ctrl-C. */
export function prepareDesk(args: Arguments): Run {
  refuseKeys(args);
  const by = args.options.by?.trim();
  if (!by) throw usageError('desk needs --by: who decides. It is kept with each decision.');
  const port = parsePort(args.options.port);
  return async ({ payments, journal, orderPayments }, { out, stopped }) => {
    const door = createDoor(by);
    const desk = createReviewDesk({ payments, journal, orderPayments, authorize: door.authorize });
    const server = await listenOn(port);
    try {
      const url = urlOf(server, HOST);
      serve(server, async (request) => door.open(request) ?? (await desk(request)));
      await out.print(
        `The review desk is ready, for one person: ${by}. Open this address. It works once:`,
        '',
        `  ${url}/?token=${door.token}`,
        '',
        'Ctrl-C stops it.',
      );
      await untilAborted(stopped);
    } finally {
      await stop(server);
    }
    return false;
  };
}

function parsePort(text = '0'): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw usageError(`--port takes a whole number from 0 to 65535, not "${text}".`);
}

async function listenOn(port: number) {
  try {
    return await listen(HOST, port);
  } catch (error) {
    throw error instanceof ListenError ? new CommandError(error.message) : error;
  }
}

const OTHERS =
  'This address was opened before, or is not whole. For another one, stop payment-journal desk and start it again.\n';

/** Lets in the one browser that opens the address with the token. Other programs and users of this machine cannot know it. */
function createDoor(by: string) {
  const token = randomBytes(24).toString('base64url');
  const session = randomBytes(24).toString('base64url');
  // All ports of this machine share their cookies: a second desk must not replace the one of the first.
  const name = `payment_journal_desk_${randomBytes(4).toString('hex')}`;
  let isUsed = false;
  return {
    token,
    /** Responds to what never reaches the desk. */
    open(request: Request): Response | undefined {
      const { hostname, searchParams } = new URL(request.url);
      // Another site can make its own name point to this machine, and would then have the origin of the desk.
      if (hostname !== HOST && hostname !== 'localhost') return new Response('Not here.\n', { status: 421 });
      if (isUsed || searchParams.get('token') !== token) return undefined;
      isUsed = true;
      const cookie = `${name}=${session}; HttpOnly; SameSite=Strict; Path=/`;
      return new Response(null, { status: 303, headers: { location: '/', 'set-cookie': cookie } });
    },
    authorize({ headers }: Request): string | Response {
      const cookies = headers.get('cookie')?.split(/;\s*/) ?? [];
      return cookies.includes(`${name}=${session}`) ? by : new Response(OTHERS, { status: 401 });
    },
  };
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
