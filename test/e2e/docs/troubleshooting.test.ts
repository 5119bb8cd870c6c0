import { spawnSync } from 'node:child_process';
import { createServer } from 'node:https';
import { DatabaseSync } from 'node:sqlite';
import { setupServer } from 'msw/node';
import { type ChargeMobileMoneyInput, PaymentsClient, PaymentsError } from 'payment-collection-client';
import { createFollowUps } from 'payment-collection-client/follow-ups';
import { createJournal, memoryJournal } from 'payment-collection-client/journal';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { startSandbox } from 'payment-collection-client/sandbox';
import { createMockPayments, type Faults } from 'payment-collection-client/testing';
import ts from 'typescript';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createCertificate } from '../../helpers/certificate.ts';
import { findClosedPort, listenForTest } from '../../helpers/listen.ts';
import { catchError } from '../../helpers/service.ts';
import { runCommand } from '../../unit/journal-cli/run-command.ts';
import { root } from './pages.ts';
import { entryPoints, listExports, publicTypes } from './public-types.ts';
import { codeIn, readPage, rowsOf, sectionOf } from './tables.ts';

const page = readPage('docs/troubleshooting.md');
const codeRows = rowsOf(sectionOf(readPage('docs/reference/errors.md'), 'Find an error by its code'));

const charge: ChargeMobileMoneyInput = {
  amount: '25.50',
  customer_email: 'ama@example.com',
  phone: '0244123456',
  network: 'mtn',
};
const payment = { amount: '25.50', customer_email: 'ama@example.com' };
const key = { idempotencyKey: 'order-17/1' };
const HOUR = 3_600_000;

type Options = ConstructorParameters<typeof PaymentsClient>[0];

/** The service in memory, and a client with a journal, for one provocation. */
function openShop() {
  const mock = createMockPayments();
  mock.listen();
  onTestFinished(() => mock.close());
  const options = { baseUrl: mock.baseUrl, apiKey: mock.apiKey, maxRetries: 0 };
  const open = (more: Options = {}) => {
    const client = new PaymentsClient({ ...options, ...more });
    onTestFinished(() => client.close());
    return client;
  };
  return { mock, open, payments: open({ journal: memoryJournal() }) };
}

type Shop = ReturnType<typeof openShop>;
type Provocation = (shop: Shop) => unknown;

const onCharge =
  (fault: Faults['chargeMobileMoney']): Provocation =>
  ({ mock, payments }) => {
    mock.fault('chargeMobileMoney', fault);
    return payments.chargeMobileMoney(charge, key);
  };
const onVerify =
  (fault: Faults['verify']): Provocation =>
  async ({ mock, payments }) => {
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', fault);
    return payments.verify(reference, { timeout: 1_000 });
  };
const onStatus = (status: number) => onCharge({ kind: 'status', status });
const loseCharge: Provocation = onCharge({ kind: 'responseLost' });
const wrongKey: Provocation = async ({ mock, open }) => {
  const { reference } = await open().initialize(payment);
  mock.reset();
  return open({ apiKey: 'sk_live_other' }).verify(reference);
};
const waitSince =
  (elapsed: number): Provocation =>
  async ({ payments }) => {
    const { reference } = await payments.initialize(payment);
    return payments.waitForFinalStatus(reference, { startedAt: Date.now() - elapsed });
  };

/** What makes each message of a section, in the order of the page. */
const provocations: Record<string, readonly Provocation[]> = {
  '`invalid_input`': [
    ({ payments }) =>
      payments.chargeMobileMoney(
        // @ts-expect-error: JavaScript lets it through
        { ...charge, amount: 0.5, network: 'vodafone' },
        key,
      ),
  ],
  '`configuration_error`': [
    () => new PaymentsClient({ baseUrl: 'https://payments.example/api/v1' }),
    () => new PaymentsClient({ apiKey: 'sk_live_x' }),
    // @ts-expect-error: JavaScript lets it through
    () => new PaymentsClient({ apikey: 'sk_live_x', apiKey: 'sk_live_x', baseUrl: 'https://a.example' }),
    ({ open }) => open({ apiKey: '"sk_live_x"' }),
    ({ open }) => open({ apiKey: 'sk_test_x', mode: 'live' }),
    ({ payments }) => payments.chargeMobileMoney(charge),
    ({ open }) => open().chargeMobileMoney(charge, key),
  ],
  '`closed`': [
    ({ payments }) => {
      payments.close();
      return payments.chargeMobileMoney(charge, key);
    },
  ],
  '`connection_error`': [
    async ({ open }) => {
      const port = await findClosedPort();
      const failure = await catchError(
        open({ baseUrl: `http://127.0.0.1:${port}/api/v1` }).chargeMobileMoney(charge),
      );
      throw withMessage(failure, (message) => message.replace(`:${port}`, ':4010'));
    },
  ],
  '`journal_error`': [
    ({ open }) => {
      const down = new Error('connect ECONNREFUSED 127.0.0.1:5432');
      const store = { read: async () => null, write: () => Promise.reject(down) };
      return open({ journal: createJournal(store) }).chargeMobileMoney(charge, key);
    },
  ],
  '`request_timeout`': [onVerify({ kind: 'hang' })],
  '`server_error`': [onVerify({ kind: 'status', status: 503 })],
  '`unexpected_response`': [onVerify({ kind: 'truncated' }), onVerify({ kind: 'status', status: 302 })],
  '`invalid_request`': [onStatus(422)],
  '`authentication_error`': [wrongKey],
  '`permission_denied`': [({ mock, open }) => open({ apiKey: mock.testKey }).chargeMobileMoney(charge)],
  '`not_found`': [({ payments }) => payments.verify('TXN-0000AB')],
  '`conflict`': [onStatus(409)],
  '`rate_limited`': [onCharge({ kind: 'rateLimited', retryAfter: 60_000 })],
  '`api_error`': [onStatus(402)],
  '`outcome_unknown`': [
    loseCharge,
    async (shop) => {
      await catchError(Promise.resolve(loseCharge(shop)));
      return shop.payments.chargeMobileMoney(charge, key);
    },
  ],
  '`idempotency_conflict`': [
    async ({ payments }) => {
      await payments.chargeMobileMoney(charge, key);
      return payments.chargeMobileMoney({ ...charge, phone: '0201234567' }, key);
    },
    async ({ mock, payments }) => {
      mock.fault('chargeMobileMoney', { kind: 'hang' });
      catchError(payments.chargeMobileMoney(charge, key));
      await vi.waitFor(() => expect(mock.requests).toHaveLength(1));
      return payments.chargeMobileMoney({ ...charge, phone: '0201234567' }, key);
    },
    async (shop) => {
      await catchError(Promise.resolve(loseCharge(shop)));
      return shop.payments.chargeMobileMoney({ ...charge, phone: '0201234567' }, key);
    },
  ],
  '`transaction_mismatch`': [
    async ({ payments }) => {
      const { reference } = await payments.initialize(payment);
      return payments.verify(reference, { expect: { amount: 2550 } });
    },
  ],
  '`wait_timeout`': [waitSince(HOUR / 6)],
  'Each call is a 404': [({ open }) => open({ baseUrl: 'https://payments.example' }).initialize(payment)],
  'http is refused': [({ open }) => open({ baseUrl: 'http://sandbox:4010/api/v1' })],
  'Each failed charge is unknown with my own fetch, or in Next.js': [
    ({ open }) => {
      const facts = { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'payments.example' };
      const cause = Object.assign(new Error('getaddrinfo ENOTFOUND payments.example'), facts);
      const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
      return open({ fetch }).chargeMobileMoney(charge);
    },
  ],
  'The certificate is refused': [
    async ({ mock, open }) => {
      mock.close();
      const port = await listenForTest(createServer(createCertificate(), (_, response) => response.end()));
      return open({ baseUrl: `https://127.0.0.1:${port}/api/v1` }).chargeMobileMoney(charge);
    },
  ],
  'The wait ends at once': [
    waitSince(HOUR),
    ({ payments }) => payments.waitForFinalStatus('TXN-0000AB', { startedAt: Date.now() / 1000 }),
    ({ open }) => open({ apiKey: 'sk_live_other' }).waitForFinalStatus('TXN-0000AB'),
  ],
  'The table of the journal is missing': [
    ({ open }) => {
      const missing = Object.assign(new Error('no such relation'), { code: '42P01' });
      const query = () => Promise.reject(missing);
      const client = { query, release() {}, on() {}, removeListener() {} };
      const pool = { query, connect: async () => client, on() {} };
      const journal = Reflect.apply(postgresJournal, undefined, [pool]);
      return open({ journal }).chargeMobileMoney(charge, key);
    },
  ],
  'The journal belongs to another key or base URL': [
    async ({ mock, open }) => {
      const journal = memoryJournal();
      await open({ journal }).chargeMobileMoney(charge, key);
      return open({ journal, apiKey: mock.testKey }).chargeMobileMoney(charge, key);
    },
    async ({ open }) => {
      const journal = memoryJournal();
      await open({ journal }).chargeMobileMoney(charge, key);
      return open({ journal, baseUrl: 'https://other.example/api/v1' }).chargeMobileMoney(charge, key);
    },
  ],
  'The connection of the journal is inside a transaction': [
    ({ open }) => {
      const database = new DatabaseSync(':memory:');
      const journal = sqliteJournal(database);
      database.exec('BEGIN');
      return open({ journal }).chargeMobileMoney(charge, key);
    },
  ],
  'A follow-up reports handler failed': [
    async ({ mock, open }) => {
      const error = vi.fn<(line: string) => void>();
      const logger = { debug() {}, info() {}, warn() {}, error };
      const journal = memoryJournal();
      const payments = open({ journal, logger, polling: { initialDelay: 0, timeout: 1 } });
      const followUps = createFollowUps({
        payments,
        journal,
        onFinal() {
          throw new Error('there is no order of this key');
        },
        onAttention() {},
      });
      const { reference } = await payments.chargeMobileMoney(charge, key);
      mock.approve(reference);
      await followUps.sweep();
      throw new Error(error.mock.calls[0]?.[0]);
    },
  ],
  'payment-journal: command not found': [
    () => {
      const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
      const { stderr } = spawnSync('bash', ['--norc', '-c', 'payment-journal list'], {
        env,
        encoding: 'utf8',
      });
      throw new Error(stderr.trim().replace('line 1: ', ''));
    },
  ],
  'payment-journal finds no config, or no journal in it': [
    async () => {
      const { err } = await runCommand(['list']);
      throw new Error(err.split('\n')[0]);
    },
    async ({ payments }) => {
      const { err } = await runCommand(['list'], { exports: { payments } });
      throw new Error(err.split('\n')[0]?.replace('payments.mjs', 'payments.ts'));
    },
  ],
  'Port 4010 is in use': [
    async () => {
      const sandbox = await startSandbox();
      onTestFinished(() => sandbox.close());
      const { port } = new URL(sandbox.url);
      const failure = await catchError(startSandbox({ port: Number(port) }));
      throw withMessage(failure, (message) => message.replace(port, '4010'));
    },
  ],
  'MSW intercepted a request without a matching request handler': [
    async ({ mock, open }) => {
      mock.close();
      const printed = vi.spyOn(console, 'error').mockReturnValue();
      const server = setupServer();
      onTestFinished(() => server.close());
      server.listen({ onUnhandledFrame: 'error' });
      await catchError(open({ baseUrl: 'https://other.example/api/v1' }).verify('TXN-0000AB'));
      const [first = ''] = String(printed.mock.lastCall).split('\n');
      throw new Error(first);
    },
  ],
  'TypeScript cannot find the module of an entry point': [
    () => {
      const [message = ''] = compileWithNode10();
      throw new Error(message.split('\n')[0]);
    },
  ],
};

/** Sections whose messages need another program. They were provoked by hand, on 22 November 2026. */
const byHand = [
  'Node warns about node:sqlite, or does not have it', // Node 22.23
  'npx payment-sandbox is not found', // the registry of npm
  'Jest: Must use import to load ES Module', // Jest 30 on Node 22
];

function withMessage(error: unknown, change: (message: string) => string): unknown {
  if (!(error instanceof Error)) return error;
  return Object.defineProperty(error, 'message', { value: change(error.message) });
}

/** Returns the errors of a program that imports an entry point, with the module resolution of old projects. */
function compileWithNode10(): string[] {
  const name = `${root}test/e2e/docs/node10.ts`;
  const text = "export { postgresJournal } from 'payment-collection-client/journal/postgres';";
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.CommonJS,
    moduleResolution: ts.ModuleResolutionKind.Node10,
    ignoreDeprecations: '6.0',
    skipLibCheck: true,
    types: [],
    noLib: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (path, language, ...rest) =>
    path === name ? ts.createSourceFile(path, text, language, true) : getSourceFile(path, language, ...rest);
  const program = ts.createProgram([name], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(name))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** The lowest headings of the page, each with the messages that it quotes. */
const sections = [...page.matchAll(/^### (?<heading>.+)\n(?<text>(?:(?!^#).*\n?)*)/gm)].map(({ groups }) => {
  const blocks = (groups?.text ?? '').matchAll(/^```text\n(?<messages>(?:.*\n)*?)```$/gm);
  return {
    heading: groups?.heading ?? '',
    messages: [...blocks].flatMap(({ groups: block }) => (block?.messages ?? '').trim().split('\n')),
  };
});

test('has a heading for each code, and for no other', () => {
  const codes = listExports(entryPoints[0] ?? { path: '', specifier: '', types: '' }).find(
    ({ name }) => name === 'PaymentsErrorCode',
  );
  const union = codes && publicTypes.getDeclaredTypeOfSymbol(codes.symbol);
  const all = union?.isUnion()
    ? union.types.map((type) => (type.isStringLiteral() ? `\`${type.value}\`` : '?'))
    : [];
  const headings = sections.map(({ heading }) => heading).filter((heading) => heading.startsWith('`'));
  expect(all).toHaveLength(19);
  expect(headings.sort()).toEqual(all.sort());
});

const quoting = sections.filter(({ messages }) => messages.length > 0);

test('provokes the messages of each section that quotes one', () => {
  const headings = quoting.map(({ heading }) => heading);
  expect([...Object.keys(provocations), ...byHand].sort()).toEqual(headings.sort());
});

describe.each(quoting.filter(({ heading }) => !byHand.includes(heading)))(
  '$heading',
  ({ heading, messages }) => {
    const all = provocations[heading] ?? [];

    test('quotes as many messages as there are provocations', () => {
      expect(messages).toHaveLength(all.length);
    });

    test.each(all.map((provoke, index) => [messages[index] ?? '', provoke] as const))(
      'comes true: %s',
      async (message, provoke) => {
        vi.stubEnv('PAYMENTS_API_KEY', undefined);
        vi.stubEnv('PAYMENTS_BASE_URL', undefined);
        onTestFinished(() => {
          vi.unstubAllEnvs();
          vi.restoreAllMocks();
        });
        const shop = openShop();
        const failure = await catchError((async () => provoke(shop))());
        expect(failure).toBeInstanceOf(Error);
        expect(failure).toHaveProperty('message', message);
        if (!(failure instanceof PaymentsError)) return;
        const [code, , , outcome = '', retryable = ''] =
          codeRows.find(([cell]) => cell === `\`${failure.code}\``) ?? [];
        if (heading.startsWith('`')) expect(heading).toBe(code);
        expect(codeIn(outcome)).toContain(String(failure.outcome));
        expect(codeIn(retryable)).toContain(String(failure.retryable));
      },
      20_000,
    );
  },
);
