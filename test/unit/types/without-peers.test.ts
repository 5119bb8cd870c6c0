import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { createMerchantProject } from '../../helpers/installed-package.ts';

const entries = Object.keys(packageJson.exports)
  .filter((path) => path !== './package.json')
  .map((path) => `payment-collection-client${path.slice(1)}`);

const program = `
${entries.map((entry, at) => `import * as entry${at} from '${entry}';`).join('\n')}
export const all = [${entries.map((_, at) => `entry${at}`).join(', ')}];

import { isPaymentsError } from 'payment-collection-client';
export function explain(error: unknown): number | string | undefined {
  if (!isPaymentsError(error)) return undefined;
  if (error.code === 'rate_limited') return error.retryAfter;
  if (error.code === 'transaction_mismatch') return error.transaction.reference;
  // @ts-expect-error This error has no such field.
  if (error.code === 'closed') return error.retryAfter;
  return error.nextStep satisfies 'retry' | 'correct' | 'review' | 'check';
}`;

type Resolution = [string, ts.ModuleKind, ts.ModuleResolutionKind, string];
const nodenext: Resolution = [
  'nodenext',
  ts.ModuleKind.NodeNext,
  ts.ModuleResolutionKind.NodeNext,
  'shop.cts',
];
const resolutions: Resolution[] = [
  nodenext,
  ['node16', ts.ModuleKind.Node16, ts.ModuleResolutionKind.Node16, 'shop.mts'],
  ['bundler', ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler, 'shop.ts'],
];
const host = cachingHost();

test('compiles and narrows without an optional peer, in each resolution', async () => {
  for (const resolution of resolutions) {
    const { faults, files } = await compile(program, resolution);
    expect(files.length, resolution[0]).toBeGreaterThan(entries.length);
    expect(faults, resolution[0]).toEqual([]);
  }
});

test('writes types by their names, in messages and declarations', async () => {
  const text = `import { type Journal, PaymentsClient } from 'payment-collection-client';
declare const journal: Journal;
export const keyed = new PaymentsClient({ journal });
export const plain = new PaymentsClient({ maxRetries: 1 });
export const wrapper = { keyed: keyed.chargeMobileMoney, plain: plain.chargeMobileMoney };
const payment = { amount: 1, customer_email: 'ama@example.com' };
const input = { ...payment, phone: '0244123456', network: 'mtn' } as const;
plain.initialize({ ...payment, curency: 'GHS' });
plain.chargeMobileMoney({ ...input, curency: 'GHS' });
keyed.chargeMobileMoney({ ...payment, phone: '0244123456' }, { idempotencyKey: 'order-17/1' });
keyed.chargeMobileMoney({ ...input, network: 'MTN' }, { idempotencyKey: 'order-17/1' });
keyed.chargeMobileMoney(input);
keyed.chargeMobileMoney(input, { timeout: 5 });
plain.verify('TXN-1', { expect: { amont: 1 } });
new PaymentsClient({ journal, timeOut: 5 });`;
  const { faults, declarations } = await compile(text, nodenext);
  const unknown = 'Object literal may only specify known properties, but';
  expect(faults.map((fault) => fault.split('\n').at(-1)?.trim())).toEqual([
    `${unknown} 'curency' does not exist in type 'InitializeInput'. Did you mean to write 'currency'?`,
    `${unknown} 'curency' does not exist in type 'ChargeMobileMoneyInput'. Did you mean to write 'currency'?`,
    expect.stringMatching(/^Property 'network' is missing .* required in type 'ChargeMobileMoneyInput'\.$/),
    expect.stringMatching(/^Type '"MTN"' is not assignable to type '"mtn" /),
    'Expected 2 arguments, but got 1.',
    expect.stringMatching(/^Property 'idempotencyKey' is missing .* required in type 'KeyedOptions'\.$/),
    `${unknown} 'amont' does not exist in type 'Expectation'. Did you mean to write 'amount'?`,
    expect.stringMatching(/'timeOut' does not exist .* Did you mean to write 'timeout'\?$/),
  ]);
  const charge = 'import("payment-collection-client").MobileMoneyCharge';
  const charging = 'input: import("payment-collection-client").ChargeMobileMoneyInput, ';
  const key = 'import("payment-collection-client").KeyedOptions';
  expect(declarations.split('\n').map((line) => line.trim())).toEqual([
    "import { type Journal, PaymentsClient } from 'payment-collection-client';",
    'export declare const keyed: PaymentsClient<Journal>;',
    'export declare const plain: PaymentsClient<Journal | undefined>;',
    'export declare const wrapper: {',
    `keyed: (${charging}options: ${key}) => Promise<${charge}>;`,
    `plain: (${charging}...idempotencyKeyAndOptions: [options: ${key}] | [options?: import("payment-collection-client").UnkeyedOptions | undefined]) => Promise<${charge}>;`,
    '};',
    '',
  ]);
});

async function compile(text: string, [, module, moduleResolution, file]: Resolution) {
  const project = await createMerchantProject('@types/node', 'undici-types');
  const path = join(project, file);
  await writeFile(path, text);
  const options: ts.CompilerOptions = {
    module,
    moduleResolution,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    exactOptionalPropertyTypes: true,
    declaration: true,
    emitDeclarationOnly: true,
    // TypeScript's own files are no matter of the package.
    skipDefaultLibCheck: true,
    types: ['node'],
    typeRoots: [join(project, 'node_modules/@types')],
  };
  const compiled = ts.createProgram([path], options, host);
  const files = compiled.getSourceFiles().filter(({ fileName }) => /merchant-/.test(fileName));
  const faults = files.flatMap((source) => compiled.getSemanticDiagnostics(source));
  let declarations = '';
  compiled.emit(compiled.getSourceFile(path), (_, emitted) => {
    declarations = emitted;
  });
  return {
    files,
    faults: faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    declarations,
  };
}

/** Parses a file once for all programs. */
function cachingHost(): ts.CompilerHost {
  const host = ts.createCompilerHost({});
  const files = new Map<string, ts.SourceFile | undefined>();
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) => {
    const found = files.get(name) ?? getSourceFile(name, ...rest);
    files.set(name, found);
    return found;
  };
  return host;
}
