import { contenders, type Name } from './contenders.ts';

/** Microseconds for each call, of one contender. */
export interface Cost {
  cpu: number;
  wall: number;
}

/** What one contender's calls cost, one after the other and many at once: a figure for each round. */
export interface Row {
  name: Name;
  label: string;
  beside: string;
  alone: Cost[];
  many: Cost[];
}

/** One measurement in a process of its own; the figures go to stdout as JSON. */
const [name = '', baseUrl = '', atOnce, calls] = process.argv.slice(2);
if (!isName(name)) throw new Error(`There is no contender ${name}.`);
const call = await contenders[name].start(baseUrl);
await run(call, Number(atOnce), Number(calls) / 2);
console.log(JSON.stringify(await costOf(call, Number(atOnce), Number(calls))));
process.exit();

async function costOf(call: () => Promise<unknown>, atOnce: number, calls: number): Promise<Cost> {
  const [cpuBefore, before] = [process.cpuUsage(), performance.now()];
  await run(call, atOnce, calls);
  const wall = (performance.now() - before) * 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: (user + system) / calls, wall: wall / calls };
}

async function run(call: () => Promise<unknown>, atOnce: number, calls: number): Promise<void> {
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function isName(text: string): text is Name {
  return text in contenders;
}
