import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs a program, and returns what it printed. It rejects if the exit code is not 0. */
export async function run(program: string, args: readonly string[], options: SpawnOptions = {}) {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} exited with ${code}: ${stdout}${stderr}`);
  return stdout;
}
