import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

// The tests are in the example's folder, because Temporal's packages are installed only there.
const folder = resolve('examples/workflows/temporal/test');
for (const file of readdirSync(folder)) {
  if (file.endsWith('.test.ts')) await import(resolve(folder, file));
}
