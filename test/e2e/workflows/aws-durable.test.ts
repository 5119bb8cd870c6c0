import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

// The tests are in the example's folder, because AWS's packages are installed only there.
const folder = resolve('examples/workflows/aws-durable/test');
for (const file of readdirSync(folder)) {
  if (file.endsWith('.test.ts')) await import(resolve(folder, file));
}
