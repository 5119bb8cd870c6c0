import { runInNewContext } from 'node:vm';
import { PaymentsClient, type PaymentsClientOptions, PaymentsError } from 'payment-collection-client';
import { memoryJournal } from 'payment-collection-client/journal';
import { createMockPayments, type Faults } from 'payment-collection-client/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { chooseSize } from '../../helpers/sized.ts';
import { pages } from './pages.ts';

const page = pages.find(({ path }) => path === 'docs/guides/testing.md')?.text ?? '';
const ROW =
  /^\| `(?<fault>\{ kind: .+?\})`(?: ²)? \| (?<exists>yes|no) \| (?<charge>.+?) \| (?<verify>.*?) ?\|$/gm;

interface Row {
  readonly fault: Faults['chargeMobileMoney'] & Faults['verify'];
  readonly exists: string;
  readonly charge: string;
  readonly verify: string;
}

const rows = [...page.matchAll(ROW)].map(({ groups }) => {
  const { fault = '', exists = '', charge = '', verify = '' } = groups ?? {};
  // A literal of the page, so that a reader can copy it.
  const value: Row['fault'] = JSON.parse(JSON.stringify(runInNewContext(`(${fault})`)));
  return [fault, { fault: value, exists, charge, verify }] as const;
});

const price = { amount: '25.50', currency: 'GHS' };
const customer = { customer_email: 'ama@example.com', phone: '024 412 3456', network: 'mtn' } as const;

function startService(options: Partial<PaymentsClientOptions> = {}) {
  const mock = createMockPayments();
  mock.listen();
  onTestFinished(() => mock.close());
  const { baseUrl, apiKey } = mock;
  const payments = new PaymentsClient({
    baseUrl,
    apiKey,
    journal: memoryJournal(),
    ...options,
  });
  return {
    mock,
    payments,
    initialize: () => payments.initialize({ ...price, customer_email: customer.customer_email }),
    charge: () => payments.chargeMobileMoney({ ...price, ...customer }, { idempotencyKey: 'order-17/1' }),
    verify: (reference: string) => payments.verify(reference, { expect: price }),
  };
}

/** Only a response that does not end may cost the timeout, however busy the machine is. */
const chooseTimeout = ({ kind }: Row['fault']) => (kind === 'hang' || kind === 'slowBody' ? 300 : 30_000);

/** Describes the end of a call as the table does, without its notes. */
async function describeEnd(
  call: Promise<{ reference: string; status?: string }>,
  isPost: boolean,
): Promise<string> {
  try {
    const { status } = await call;
    return status === 'unrecognised' ? 'status `unrecognised`' : 'no error';
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    return isPost ? `\`${error.name}\`, \`${error.outcome}\`` : `\`${error.name}\``;
  }
}

const withoutNotes = (cell: string) => cell.replace(/ [¹²³⁴]+$/, '');
const RETRIED = / ¹$/;

test('names every fault', () => {
  const { mock } = startService();
  // @ts-expect-error The error lists the kinds that there are.
  const ask = (operation: keyof Faults) => mock.fault(operation, { kind: 'noSuchKind' });
  const known = ['chargeMobileMoney', 'verify'].flatMap((operation) => {
    try {
      ask(operation as keyof Faults);
    } catch (error) {
      return /Known: (.+)\.$/.exec(String(error))?.[1]?.split(', ') ?? [];
    }
    return [];
  });
  expect(known.length).toBeGreaterThan(20);
  expect(new Set(rows.map(([, { fault }]) => fault.kind))).toEqual(new Set(known));
});

describe.each(rows)('%s', (_, { fault, exists, charge, verify }) => {
  const timeout = chooseTimeout(fault);

  test('ends a charge as the table says', async () => {
    const service = startService({ maxRetries: 0, timeout });
    service.mock.fault('chargeMobileMoney', fault);
    expect(await describeEnd(service.charge(), true)).toBe(withoutNotes(charge));
    expect(service.mock.charges).toHaveLength(exists === 'yes' ? 1 : 0);
  });

  test('ends initialize in the same way', async () => {
    const service = startService({ maxRetries: 0, timeout });
    if (fault.kind === 'unrecognisedStatus') {
      // @ts-expect-error It is not for this operation.
      expect(() => service.mock.fault('initialize', fault)).toThrow(TypeError);
      return;
    }
    service.mock.fault('initialize', fault);
    expect(await describeEnd(service.initialize(), true)).toBe(withoutNotes(charge));
    expect(service.mock.transactions).toHaveLength(exists === 'yes' ? 1 : 0);
  });

  test('ends verify as the table says', async () => {
    const service = startService({ maxRetries: 0, timeout });
    const { reference } = await service.initialize();
    if (verify === '') {
      expect(() => service.mock.fault('verify', fault)).toThrow(TypeError);
      return;
    }
    service.mock.fault('verify', fault);
    expect(await describeEnd(service.verify(reference), false)).toBe(withoutNotes(verify));
  });
});

const noted = (note: string) =>
  rows.filter(([, row]) => [row.charge, row.verify].some((cell) => cell.includes(note)));

test.each(noted('³'))('is noticed by a verify with expect only: %s', async (_, { fault }) => {
  const { mock, payments, initialize } = startService();
  const { reference } = await initialize();
  mock.fault('verify', fault);
  expect(await describeEnd(payments.verify(reference), false)).toBe('no error');
});

test.each(noted('⁴'))('leads to a reference that does not exist: %s', async (_, { fault }) => {
  const { mock, charge, verify } = startService();
  mock.fault('chargeMobileMoney', fault);
  const { reference } = await charge();
  expect(await describeEnd(verify(reference), false)).toBe('`NotFoundError`');
});

// A retry waits, so the short run tries one fault.
const retried = chooseSize(
  rows.filter(([, { fault }]) => fault.kind === 'reset'),
  rows,
);

test.each(retried)('is retried if the table says so: %s', async (_, { fault, charge, verify }) => {
  const service = startService({ timeout: chooseTimeout(fault) });
  service.mock.fault('chargeMobileMoney', fault);
  const charged = await describeEnd(service.charge(), true);
  expect(charged).toBe(RETRIED.test(charge) ? 'no error' : withoutNotes(charge));
  if (verify === '') return;
  const { reference } = await service.initialize();
  service.mock.fault('verify', fault);
  const read = await describeEnd(service.verify(reference), false);
  expect(read).toBe(RETRIED.test(verify) ? 'no error' : withoutNotes(verify));
  if (!RETRIED.test(verify)) return;
  service.mock.fault('verify', fault, { times: 3 });
  expect(await describeEnd(service.verify(reference), false)).toBe(withoutNotes(verify));
});
