import { expect, test } from 'vitest';
import { payingSandbox, program, project, tool } from './project.ts';
import { run } from './run.ts';

const compilerOptions = {
  strict: true,
  skipLibCheck: true,
  target: 'ES2023',
  module: 'NodeNext',
  types: ['node'],
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

test.each(['5.9', '6.0', '7.0'])(
  'injects the client into a decorated class, by TypeScript %s',
  async (version) => {
    const folder = await project({
      'package.json': '{ "type": "commonjs" }',
      'nest.ts': await program('nest.ts'),
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['nest.ts'] }),
    });
    await run(process.execPath, [tool(`typescript-${version}/bin/tsc`), '-p', '.'], folder);
    const sandbox = await payingSandbox();
    const printed = await run(process.execPath, ['nest.js', sandbox.baseUrl, sandbox.liveKey], folder);
    expect(JSON.parse(printed)).toEqual([true, 'success', 'missing']);
  },
);
