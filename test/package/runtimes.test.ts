import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { entriesProgram, expectEntries } from './entries.ts';
import { fileNames, moduleSystems } from './loading.ts';
import { project, tool } from './project.ts';
import { run } from './run.ts';
import { expectBusiness, shopProgram } from './shop.ts';

const denoFlags = ['run', '--node-modules-dir=manual', '--no-remote', '--quiet', '--allow-all'];
const runtimes = [
  { name: 'Bun', command: tool('.bin/bun'), flags: [] },
  { name: 'Deno', command: tool('.bin/deno'), flags: denoFlags },
];
const cells = runtimes.flatMap((runtime) => moduleSystems.map((system) => ({ ...runtime, system })));

test.each(cells)('$name does business, as $system', async ({ command, flags, system }) => {
  const file = fileNames[system];
  const folder = await project({ [file]: await shopProgram(system) }, 'bare');
  await expectBusiness((...to) => run(command, [...flags, file, ...to], folder));
});

test.each(cells)('every entry point loads on $name, as $system', async ({ command, flags, system }) => {
  const file = fileNames[system];
  const folder = await project({ [file]: entriesProgram(system) });
  expectEntries(await run(command, [...flags, file], folder));
});

describe('bundled for the edge', () => {
  async function bundle(tail: string, format: 'esm' | 'iife'): Promise<{ folder: string; text: string }> {
    const folder = await project({ 'shop.mjs': await shopProgram('module', tail) }, 'bare');
    const { outputFiles } = await build({
      entryPoints: [`${folder}/shop.mjs`],
      bundle: true,
      write: false,
      minify: true,
      platform: 'browser',
      conditions: ['workerd', 'worker', 'browser'],
      format,
    });
    return { folder, text: outputFiles.map(({ text }) => text).join('') };
  }

  test('it does business in workerd', async () => {
    const worker = `export default {
      async test(_controller, { baseUrl, apiKey }) {
        console.log(JSON.stringify(await shop({ main, schedule, journals }, baseUrl, apiKey)));
      },
    };`;
    await expectBusiness(async (baseUrl, apiKey) => {
      const { folder, text } = await bundle(worker, 'esm');
      const inside = await project({ 'worker.js': text, 'shop.capnp': workerd(baseUrl, apiKey) }, 'bare');
      expect(folder).not.toBe(inside);
      const printed = await run(tool('.bin/workerd'), ['test', 'shop.capnp'], inside);
      return printed.slice(printed.indexOf('{'), printed.lastIndexOf('}') + 1);
    });
  });

  test('it does business where there is nothing of Node, only what the web has', async () => {
    const { text } = await bundle(
      'globalThis.visit = (...to) => shop({ main, schedule, journals }, ...to);',
      'iife',
    );
    const context = createContext({ ...web });
    runInContext(text, context);
    await expectBusiness(async (baseUrl, apiKey) => {
      const seen: unknown = await runInContext(`visit('${baseUrl}', '${apiKey}')`, context);
      return JSON.stringify(seen);
    });
  });
});

const web = {
  AbortController,
  AbortSignal,
  DOMException,
  Event,
  EventTarget,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  TransformStream,
  URL,
  URLSearchParams,
  Blob,
  FormData,
  clearInterval,
  clearTimeout,
  console,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setInterval,
  setTimeout,
  structuredClone,
};

function workerd(baseUrl: string, apiKey: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "shop", worker = .shop),
    (name = "internet", network = (allow = ["private"])),
  ],
);

const shop :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  bindings = [(name = "baseUrl", text = "${baseUrl}"), (name = "apiKey", text = "${apiKey}")],
  compatibilityDate = "2026-01-01",
);
`;
}
