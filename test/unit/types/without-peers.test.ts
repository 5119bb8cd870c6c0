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
const resolutions: Resolution[] = [
  ['nodenext', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext, 'shop.cts'],
  ['node16', ts.ModuleKind.Node16, ts.ModuleResolutionKind.Node16, 'shop.mts'],
  ['bundler', ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler, 'shop.ts'],
];

test('compiles and narrows without an optional peer, in each resolution', async () => {
  const project = await createMerchantProject('@types/node', 'undici-types');
  const host = cachingHost();
  for (const [name, module, moduleResolution, file] of resolutions) {
    const path = join(project, file);
    await writeFile(path, program);
    const options: ts.CompilerOptions = {
      module,
      moduleResolution,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // TypeScript's own files are no matter of the package.
      skipDefaultLibCheck: true,
      types: ['node'],
      typeRoots: [join(project, 'node_modules/@types')],
    };
    const compiled = ts.createProgram([path], options, host);
    const files = compiled.getSourceFiles().filter(({ fileName }) => /merchant-/.test(fileName));
    expect(files.length, name).toBeGreaterThan(entries.length);
    const faults = [path, ...files.map(({ fileName }) => fileName)].flatMap((fileName) =>
      compiled.getSemanticDiagnostics(compiled.getSourceFile(fileName)),
    );
    expect(
      faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
      name,
    ).toEqual([]);
  }
});

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
