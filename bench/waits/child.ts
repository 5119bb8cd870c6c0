import { contenders, type Name } from './contenders.ts';
import { measurePending, measurePolling } from './measure.ts';
import { measureOverHttp } from './over-http.ts';

/** Makes one measurement and prints its figures as JSON. */
const [mode, name = '', count] = process.argv.slice(2);
console.log(JSON.stringify(await measure(Number(count))));
process.exit();

async function measure(waits: number): Promise<object> {
  if (mode === 'http') return measureOverHttp(waits);
  if (!isName(name)) throw new Error(`There is no contender ${name}.`);
  const measureWaits = mode === 'polling' ? measurePolling : measurePending;
  return measureWaits(contenders[name], waits);
}

function isName(text: string): text is Name {
  return text in contenders;
}
