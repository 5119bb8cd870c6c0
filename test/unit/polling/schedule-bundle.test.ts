import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

// Built by `npm run build`, which `npm test` runs first.
const dist = new URL('../../../dist/', import.meta.url);

test.each(['schedule.js', 'schedule.cjs'])(
  '%s runs without import, clock, randomness or timers',
  async (name) => {
    const { outputFiles } = await build({
      entryPoints: [new URL(name, dist).pathname],
      bundle: true,
      format: 'iife',
      globalName: 'schedule',
      write: false,
    });
    const code = outputFiles[0]?.text ?? '';
    // Not even named: another path through the code could use it.
    expect(code).not.toMatch(
      /\b(?:require\(|import\b|Date\b|performance\b|random\(|set(?:Timeout|Interval|Immediate)|process\b)/,
    );
    // A new context has the globals of the language alone.
    const run = 'schedule.nextDelay({ elapsed: 60000, retryAfter: 9000 })';
    expect(runInNewContext(`delete globalThis.Date; delete Math.random; ${code}; ${run}`)).toBe(9_000);
  },
);
