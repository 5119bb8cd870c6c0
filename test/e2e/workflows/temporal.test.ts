import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

// They are the example's own, beside it: Temporal's packages are installed there only.
const folder = resolve('examples/workflows/temporal/test');
for (const file of readdirSync(folder)) {
  if (file.endsWith('.test.ts')) await import(resolve(folder, file));
}
