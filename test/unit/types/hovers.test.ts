import ts from 'typescript';
import { expect, test } from 'vitest';
import { openInEditor } from '../../helpers/editor.ts';
import { chooseSize } from '../../helpers/sized.ts';

/** Ten lines of a shop, as a merchant writes them against the built package. Build it first: `npm run build`. */
const shop = `
import {
  OutcomeUnknownError, PaymentsClient, PaymentsError, type ChargeMobileMoneyInput, type Expectation,
  type InitializeInput, type InitializedPayment, type MobileMoneyCharge, type Network, type Transaction,
} from 'payment-collection-client';

export async function sell(input: InitializeInput, signal?: AbortSignal): Promise<InitializedPayment> {
  const payments = new PaymentsClient({ apiKey: 'sk_test_1', timeout: 5000, headers: undefined });
  const started = await payments.initialize(input, { signal });
  await payments.initialize({ amount: '30.00', customer_email: input.customer_email, currency: 'GHS' });
  const charged = await payments.chargeMobileMoney({ ...input, phone: '024 412 3456', network: 'mtn' });
  const read = await payments.verify(started.reference, { expect: { amount: '25.50', currency: 'GHS' } });
  const final = await payments.waitForFinalStatus(charged.reference, { signal });
  const link = started.checkout_url;
  const time = read.paid_at;
  const state = final.status;
  if (read.status === 'success') ship(read);
  if (final.status === 'unrecognised') report(final, final.raw_status);
  return started;
}

export async function charge(payments: PaymentsClient, input: ChargeMobileMoneyInput): Promise<MobileMoneyCharge | null> {
  try {
    return await payments.chargeMobileMoney(input);
  } catch (error) {
    if (error instanceof OutcomeUnknownError) report(error, error.reference);
    if (error instanceof PaymentsError && error.outcome === 'unknown') return null;
    throw error;
  }
}

export const expectation: Expectation = { amount: 25.5 };
export const network: Network = 'mtn';
declare function ship(order: Transaction): void;
declare function report(...facts: unknown[]): void;
`;

const { ESNext } = ts.ModuleKind;
const { Bundler } = ts.ModuleResolutionKind;

const strictest = ['ES module', 'shop.ts', {}] as const;

test.each([
  strictest,
  ...chooseSize([], [
    ['CommonJS module', 'shop.cts', { verbatimModuleSyntax: false }],
    ['module that a bundler takes', 'shop.ts', { module: ESNext, moduleResolution: Bundler }],
    ['module without exactOptionalPropertyTypes', 'shop.ts', { exactOptionalPropertyTypes: false }],
  ] as const),
])('compiles for the strictest consumer as %s, with types of zod only', (_, name, options) => {
  const editor = openInEditor(name, shop, options);
  expect(editor.faults).toEqual([]);
  expect([...editor.packages].sort()).toEqual(['typescript', 'zod']);
});

const editor = openInEditor('shop.ts', shop);
const object = (...fields: string[]) => `{\n${fields.map((field) => `    ${field};\n`).join('')}}`;
const paid = ['amount: string | number', 'customer_email: string', 'currency?: string | undefined'];
const networks = '"mtn" | "telecel" | "airteltigo"';
const state = '"pending" | "processing" | "success" | "failed" | "abandoned" | "unrecognised"';

test.each([
  [
    'payments.|initialize',
    '(method) PaymentsClient.initialize(input: InitializeInput, options?: UnkeyedOptions): Promise<InitializedPayment> (+1 overload)',
  ],
  [
    'payments.|chargeMobileMoney',
    '(method) PaymentsClient.chargeMobileMoney(input: ChargeMobileMoneyInput, options?: UnkeyedOptions): Promise<MobileMoneyCharge> (+1 overload)',
  ],
  [
    'payments.|waitForFinalStatus',
    '(method) PaymentsClient.waitForFinalStatus(reference: string, options?: WaitOptions): Promise<Transaction>',
  ],
  ['const |payments', 'const payments: PaymentsClient'],
  ['const |started', 'const started: InitializedPayment'],
  ['const |read', 'const read: Transaction'],
  ['const |final', 'const final: Transaction'],
  ['const |link', 'const link: string'],
  ['const |time', 'const time: string | null'],
  ['ship(|read', 'const read: SuccessfulTransaction'],
  ['report(|final', 'const final: UnrecognisedTransaction'],
  ['input: |InitializeInput', `(alias) type InitializeInput = ${object(...paid)}\nimport InitializeInput`],
  ['type |Network', `(alias) type Network = ${networks}\nimport Network`],
  ["phone: '024 412 3456', |network", `(property) network: ${networks}`],
  ['report(|error', '(local var) error: OutcomeUnknownError'],
  ['error.|outcome', '(property) PaymentsError.outcome: Outcome | null'],
  [
    'PaymentsClient({ |apiKey',
    '(property) PaymentsClientOptions.apiKey?: string | (() => string | Promise<string>) | undefined',
  ],
])('shows a readable type for %s', (at, type) => {
  expect(editor.hover(at).type).toBe(type);
});

test.each([
  'payments.|initialize',
  'payments.|chargeMobileMoney',
  'payments.|verify',
  'payments.|waitForFinalStatus',
  'const |started',
  'const |charged',
  'const |read',
  'const |final',
  'const |state',
  'ship(|read',
  'report(|final',
  'type |ChargeMobileMoneyInput',
  'type |Expectation',
  'type |InitializeInput',
  'type |InitializedPayment',
  'type |MobileMoneyCharge',
  'type |Network',
  'type |Transaction',
  '{ |expect:',
  '{ |signal',
  'error.|reference',
])('shows a short type for %s, without zod or ky', (at) => {
  const { type } = editor.hover(at);
  expect(type).not.toBe('');
  expect(type.length).toBeLessThan(400);
  expect(type).not.toMatch(/zod|\$|\bky\b|core\.|infer|\.\.\.[ ;]/i);
});

test('shows all the statuses', () => {
  const shown = editor.hover('const |state').type.replace('const state: ', '').split(' | ').sort();
  expect(shown).toEqual(state.split(' | ').sort());
});

test.each([
  ['payments.|chargeMobileMoney', 'PIN prompt'],
  ['payments.|verify', "Only `status: 'success'` means paid"],
  ['type |Transaction', 'Only `success` means paid'],
  ['read.|paid_at', '`status` alone says whether it is paid'],
  ['started.|checkout_url', 'Send the customer here'],
  ["{ |amount: '30.00'", 'at most two decimals'],
  ["|phone: '024", 'Sent as given'],
  ['error.|outcome', 'What might have happened to the money'],
  ['final.|raw_status', 'as the service wrote it'],
  ['|timeout: 5000', 'How long one attempt can take'],
])('shows the documentation of %s', (at, prose) => {
  expect(editor.hover(at).prose).toContain(prose);
});
