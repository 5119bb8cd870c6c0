// Bundles a program into one minified file, as merchants do: node bundle.js <bundler> <entry> <output>
// The extension of the output, .mjs or .cjs, is that of the entry, and selects the module system.

import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { promisify } from 'node:util';

const [bundler, entry, output] = process.argv.slice(2);
const isModule = extname(output) === '.mjs';

const byEsbuild = async (options) => {
  const { build } = await import('esbuild');
  const format = isModule ? 'esm' : 'cjs';
  await build({ entryPoints: [entry], outfile: output, bundle: true, platform: 'node', format, ...options });
};

const bundlers = {
  esbuild: () => byEsbuild({ minify: true }),

  /** swc has a minifier and no bundler. */
  async swc() {
    const { minify } = await import('@swc/core');
    await byEsbuild({});
    const bundled = await readFile(output, 'utf8');
    const compress = { passes: 2, toplevel: true };
    const { code } = await minify(bundled, { module: isModule, compress, mangle: { toplevel: true } });
    await writeFile(output, code);
  },

  async webpack() {
    const { default: webpack } = await import('webpack');
    const compiler = webpack({
      mode: 'production',
      target: 'node',
      entry,
      output: { path: dirname(output), filename: basename(output), module: isModule },
      experiments: { outputModule: isModule },
    });
    const stats = await promisify(compiler.run).call(compiler);
    if (stats.hasErrors()) throw new Error(stats.toString());
  },

  async rollup() {
    const { rollup } = await import('rollup');
    const [{ default: commonjs }, { default: resolve }, { default: terser }] = await Promise.all([
      import('@rollup/plugin-commonjs'),
      import('@rollup/plugin-node-resolve'),
      import('@rollup/plugin-terser'),
    ]);
    const plugins = [resolve({ preferBuiltins: true }), commonjs()];
    const bundle = await rollup({ input: entry, plugins });
    const format = isModule ? 'es' : 'cjs';
    await bundle.write({ file: output, format, plugins: [terser({ compress: { passes: 2 } })] });
  },

  async vite() {
    const { build } = await import('vite');
    const format = isModule ? 'es' : 'cjs';
    await build({
      configFile: false,
      logLevel: 'error',
      root: dirname(entry),
      ssr: { noExternal: true },
      build: {
        ssr: entry,
        minify: true,
        outDir: dirname(output),
        emptyOutDir: false,
        rolldownOptions: { output: { format, entryFileNames: basename(output) } },
      },
    });
  },
};

await bundlers[bundler]();
