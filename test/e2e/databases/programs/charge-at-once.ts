// One of several processes that charge one order. It prints `ready`, waits for a line, and prints what each caller got.
import { once } from 'node:events';
import { chargeAtOnce, chargeAtOnceSchema } from '../charge-at-once.ts';

const settings = chargeAtOnceSchema.parse(JSON.parse(process.argv[2] ?? ''));
const results = await chargeAtOnce(settings, async () => {
  const line = once(process.stdin, 'data');
  console.log('ready');
  await line;
});
console.log(JSON.stringify(results));
process.stdin.destroy();
