import { build } from 'esbuild';
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
);

const shop :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  bindings = [${list.join(', ')}],
  compatibilityDate = "2026-01-01",
);
`;
}
