import { stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import * as main from '../../../src/index.ts';
import { API_KEY, type Respond, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { program, project } from './project.ts';
import { run } from './run.ts';
import { type ModuleSystem, moduleSystems } from './runtimes.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const bundlers = ['webpack', 'rollup', 'swc', 'esbuild', 'vite'];
const cells = bundlers.flatMap((bundler) => moduleSystems.map((system) => ({ bundler, system })));

/** By their names, as merchants import them: minifiers inline what is used once. */
const imported = {
  'payment-collection-client': Object.keys(main).filter((name) =>
    /^(?:is.+|PaymentsClient|.+Error)$/.test(name),
  ),
  'payment-collection-client/journal': ['memoryJournal'],
  'payment-collection-client/orders': ['createOrderPayments'],
};

async function bundledProgram(system: ModuleSystem): Promise<string> {
  const lines = Object.entries(imported).map(([path, names]) =>
    system === 'module' ? `import { ${names} } from '${path}';` : `const { ${names} } = require('${path}');`,
  );
  return `${lines.join('\n')}\n${await program('bundled.js')}`;
}

interface Visit {
  bytes: number;
  seen: object;
  requests: string[];
}

/** Runs a bundle against a service of its own. Returns what the program saw, and the requests at the service. */
async function visit(bundle: string, folder: string): Promise<Visit> {
  let checks = 0;
  const respond: Respond = (response, { path, body }) => {
    if (body.includes('lost@example.com')) return response.destroy();
    if (body.includes('refused@example.com')) return sendJson(response, 422, { message: 'No such number.' });
    if (path.endsWith('/charge-mobile-money'))
      return sendJson(response, 200, successBodies.chargeMobileMoney({ reference: 'TXN-18' }));
    if (path.endsWith('/TXN-open'))
      return sendJson(response, 200, successBodies.verify({ reference: 'TXN-open', status: 'pending' }));
    checks += 1;
    if (checks === 1) return sendJson(response, 503, { message: 'Please call again.' });
    return sendJson(response, 200, successBodies.verify({ reference: 'TXN-18' }));
  };
  const service = await startService(respond);
  const printed = await run(process.execPath, [bundle, service.baseUrl, API_KEY], folder);
  return {
    bytes: (await stat(bundle)).size,
    seen: JSON.parse(printed),
    requests: service.requests.map(({ method, path, body }) => `${method} ${path} ${body}`),
  };
}

/** Runs the program with the source in place of the package, as it is written. */
async function visitSource(): Promise<Visit> {
  const folder = await project({ 'program.mjs': await bundledProgram('module') }, 'bare');
  const bundle = join(folder, 'bundle.mjs');
  const files = { '': 'index.ts', '/journal': 'stores/index.ts', '/orders': 'orders/index.ts' };
  const aliases = Object.entries(files).map(([entry, file]) => [
    `payment-collection-client${entry}`,
    here(`../../../src/${file}`),
  ]);
  await build({
    entryPoints: [join(folder, 'program.mjs')],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias: Object.fromEntries(aliases),
  });
  return visit(bundle, folder);
}

let ofSource: Promise<Visit> | undefined;
function readSource(): Promise<Visit> {
  ofSource ??= visitSource();
  return ofSource;
}

test.each(cells)('behaves as the source in a bundle of $bundler, as $system', async ({ bundler, system }) => {
  const source = await readSource();
  const name = system === 'module' ? 'program.mjs' : 'program.cjs';
  const folder = await project({ [name]: await bundledProgram(system) }, 'bare');
  const bundle = join(folder, `dist/bundle${extname(name)}`);
  await run(process.execPath, [here('bundle.js'), bundler, join(folder, name), bundle], folder);

  const { bytes, seen, requests } = await visit(bundle, folder);
  expect(bytes).toBeLessThan(0.7 * source.bytes);
  expect(seen).toEqual(source.seen);
  expect(requests).toEqual(source.requests);
  expect(seen).toMatchObject({
    lost: { kinds: ['PaymentsError', 'OutcomeUnknownError'], outcome: 'unknown', nextStep: 'review' },
    refused: { state: 'unpaid', error: { outcome: 'rejected', nextStep: 'correct' } },
    waited: { state: 'paid', reference: 'TXN-18' },
    delivered: ['18'],
    closedWait: { code: 'closed', outcome: null },
    closedCall: { code: 'closed', outcome: null },
    closedCharge: { code: 'closed', outcome: 'not_sent' },
  });
});
