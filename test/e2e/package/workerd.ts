import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import { project, tool } from './project.ts';
import { run } from './run.ts';

/** Bundles a program that imports the package into one file for the edge. */
export async function bundle(
  program: string,
  format: 'esm' | 'iife',
  inside: 'bare' | 'shop' = 'bare',
): Promise<string> {
  const folder = await project({ 'program.mjs': program }, inside);
  const { outputFiles } = await build({
    entryPoints: [`${folder}/program.mjs`],
    bundle: true,
    write: false,
    minify: true,
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers'],
    format,
  });
  return outputFiles.map(({ text }) => text).join('');
}

/** Returns the end of a program for {@link runInWorkerd}. It prints the result of a call with these bindings. */
export const edgeProgram = (call: string, bindings = 'baseUrl, apiKey') => `
export default {
  async test(_controller, { ${bindings} }) {
    console.log(JSON.stringify(await ${call}));
  },
};`;

/** Runs a program in workerd, with access to this machine. Returns the JSON that it printed. */
export async function runInWorkerd(
  program: string,
  bindings: Record<string, string>,
  certificate = '',
  inside: 'bare' | 'shop' = 'bare',
): Promise<string> {
  const files = {
    'worker.js': await bundle(program, 'esm', inside),
    'config.capnp': configuration(bindings, certificate),
  };
  const printed = await run(tool('.bin/workerd'), ['test', 'config.capnp'], await project(files, 'bare'));
  const [json = ''] = /^[[{].*[\]}]$/m.exec(printed) ?? [];
  return json;
}

/** Starts a Worker that takes requests, until the test ends. Returns its address. */
export async function serveInWorkerd(program: string, bindings: Record<string, string>): Promise<string> {
  const folder = await project(
    { 'worker.js': await bundle(program, 'esm'), 'config.capnp': configuration(bindings, '') },
    'bare',
  );
  const workerd = spawn(tool('.bin/workerd'), ['serve', 'config.capnp', '--control-fd=1'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(workerd, 'exit');
  onTestFinished(async () => {
    workerd.kill('SIGKILL');
    await ended;
  });
  for await (const line of createInterface(workerd.stdout)) {
    const { port }: { port?: number } = JSON.parse(line);
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
  throw new Error('workerd ended before it listened.');
}

function configuration(bindings: Record<string, string>, certificate: string): string {
  const list = Object.entries(bindings).map(
    ([name, value]) => `(name = "${name}", text = ${JSON.stringify(value)})`,
  );
  const trusted = certificate && `, tlsOptions = (trustedCertificates = [${JSON.stringify(certificate)}])`;
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "shop", worker = .shop),
    (name = "internet", network = (allow = ["private"]${trusted})),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "shop")],
);

const shop :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  bindings = [${list.join(', ')}],
  compatibilityDate = "2026-01-01",
);
`;
}
