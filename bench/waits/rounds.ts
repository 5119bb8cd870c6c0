import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Name } from './contenders.ts';

/** One measurement. */
export interface Job {
  mode: 'pending' | 'polling' | 'http';
  name: Name;
  count: number;
}

/** A measurement that takes longer than this is given up, in milliseconds. */
const JOB_TIMEOUT = 120_000;
const child = fileURLToPath(new URL('child.ts', import.meta.url));

/** Runs each job in a fresh process, one round after another. Returns the least of every figure, if any job ended. */
export async function runRounds<Figures extends object>(
  rounds: number,
  jobs: readonly Job[],
): Promise<(Figures | undefined)[]> {
  const least: (Figures | undefined)[] = jobs.map(() => undefined);
  for (let round = 0; round < rounds; round++) {
    for (const [index, job] of jobs.entries()) {
      const before = least[index];
      const figures = await runInFreshProcess<Figures>(job);
      least[index] = before && figures ? takeLeast(before, figures) : (figures ?? before);
    }
  }
  return least;
}

async function runInFreshProcess<Figures>({ mode, name, count }: Job): Promise<Figures | undefined> {
  showProgress(`${mode} ${name} ${count}`);
  const args = ['--expose-gc', '--max-old-space-size=8192', child, mode, name, String(count)];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: JOB_TIMEOUT });
    return JSON.parse(stdout);
  } catch (error) {
    if (error instanceof Error && 'killed' in error && error.killed) return undefined;
    throw error;
  } finally {
    showProgress('');
  }
}

function takeLeast<Figures extends object>(one: Figures, other: Figures): Figures {
  const others = new Map(Object.entries(other));
  const entries = Object.entries(one).map(([name, value]) => {
    const again = others.get(name);
    return [name, typeof value === 'number' && typeof again === 'number' ? Math.min(value, again) : value];
  });
  return { ...one, ...Object.fromEntries(entries) };
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(50)}\r`);
}
