/**
 * Explores the worlds of configs.ts: `npm run explore`, or `npm run explore -- plain price` for some of them. It prints the shortest
 * sequence of events that breaks a rule. `npm run faults -- --suite explore` puts faults into the rules, and shows that they are found.
 */

import { parseArgs } from 'node:util';
import { type ConfigName, configs } from './configs.ts';
import { explore } from './search.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { states: { type: 'string' } },
});

const isConfigName = (name: string): name is ConfigName => Object.hasOwn(configs, name);
const named = positionals.length > 0 ? positionals : Object.keys(configs);
let states = 0;
let seconds = 0;
for (const name of named.filter(isConfigName)) {
  const config = configs[name];
  const result = explore({ ...config, maxStates: Number(values.states ?? config.maxStates) });
  const { broken, depth, isClosed } = result;
  states += result.states;
  seconds += result.seconds;
  const end = broken ? `BROKEN: ${broken.what}` : isClosed ? 'all states' : 'cut';
  console.log(`${name}: ${end}, ${result.states} states, depth ${depth}, ${result.seconds.toFixed(1)} s`);
  if (!broken) continue;
  console.log(broken.steps.map((step, index) => `  ${index + 1}. ${step}`).join('\n'));
  process.exitCode = 1;
  break;
}
console.log(`${states} states in ${seconds.toFixed(1)} s`);
