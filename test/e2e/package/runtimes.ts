import { tool } from './project.ts';

/** A runtime from npm that runs a program from a file. */
interface Runtime {
  readonly name: string;
  readonly command: string;
  readonly flags: readonly string[];
}

const deno = (folder: string): Pick<Runtime, 'command' | 'flags'> => ({
  command: tool(`${folder}/deno`),
  flags: ['run', '--node-modules-dir=manual', '--no-remote', '--quiet', '--allow-all'],
});

/** The newest and the oldest version that the README promises of each. */
export const bunAndDeno: readonly Runtime[] = [
  { name: 'Bun 1.4', command: tool('bun/bin/bun.exe'), flags: [] },
  { name: 'Bun 1.1.0', command: tool('bun-1.1/bin/bun'), flags: [] },
  { name: 'Deno 2.9', ...deno('deno') },
  { name: 'Deno 2.0.0', ...deno('deno-2.0') },
];

export const nodes: readonly Runtime[] = ['22.0', '22', '24', '26'].map((version) => ({
  name: `Node ${version}`,
  command: tool(`node-${version}/bin/node`),
  flags: [],
}));
