/**
 * Explores the worlds of configs.ts: `npm run explore`, or `npm run explore -- plain price` for some of them. With `--faults`, it puts each fault
 * of faults.ts into the rules and shows that it is found. With `--fault NAME`, it prints the shortest sequence that shows it.
 */

import { spawn } from 'node:child_process';
import { registerHooks } from 'node:module';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type ConfigName, configs } from './configs.ts';
import { type Fault, faults } from './faults.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { faults: { type: 'boolean' }, fault: { type: 'string' }, states: { type: 'string' } },
});

/** Replaces texts of the rules before they are loaded. */
function putIn({ file, replace = [] }: Fault): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (file === undefined || !url.endsWith(`/src/ledger/${file}`)) return loaded;
      let source = String(loaded.source);
      for (const [find, by] of replace) {
        if (source.split(find).length !== 2) throw new Error(`${file} has not once: ${find}`);
        source = source.replace(find, () => by);
      }
      return { ...loaded, source };
    },
  });
}

const isConfigName = (name: string): name is ConfigName => Object.hasOwn(configs, name);

/** Explores some worlds, prints what came of each, and returns whether any was broken. */
async function exploreAll(names: readonly ConfigName[], fault: Fault | undefined): Promise<boolean> {
  const { explore } = await import('./search.ts');
  let states = 0;
  let seconds = 0;
  for (const name of names) {
    const isInShell = fault !== undefined && fault.file === undefined;
    const shellFaults = new Set(isInShell ? [fault.name] : []);
    const maxStates = Number(values.states ?? configs[name].maxStates);
    const result = explore({ ...configs[name], shellFaults, maxStates });
    const { broken, depth, isClosed } = result;
    states += result.states;
    seconds += result.seconds;
    const end = broken ? `BROKEN: ${broken.what}` : isClosed ? 'all states' : 'cut';
    console.log(`${name}: ${end}, ${result.states} states, depth ${depth}, ${result.seconds.toFixed(1)} s`);
    if (broken) {
      console.log(broken.steps.map((step, index) => `  ${index + 1}. ${step}`).join('\n'));
      return true;
    }
  }
  console.log(`${states} states in ${seconds.toFixed(1)} s`);
  return false;
}

/** Explores with one fault in a process of its own. Returns what it printed if the fault was found. */
function findFault({ name }: Fault): Promise<string | undefined> {
  const states = values.states === undefined ? [] : ['--states', values.states];
  const child = spawn(process.execPath, [import.meta.filename, '--fault', name, ...states], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 1 && output.includes('BROKEN') ? output : undefined));
  });
}

/** Puts each fault in, a few at once. Returns the names of those that were not found. */
async function findAllFaults(): Promise<string[]> {
  const missed: string[] = [];
  const waiting = [...faults];
  const work = async () => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
      const found = await findFault(fault);
      const line = found?.split('\n').find((text) => text.includes('BROKEN'));
      console.log(`${fault.name}: ${line ?? 'NOT FOUND'}`);
      if (found === undefined) missed.push(fault.name);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return missed;
}

if (values.faults) {
  const missed = await findAllFaults();
  console.log(`${faults.length - missed.length} of ${faults.length} faults found`);
  process.exitCode = missed.length > 0 ? 1 : 0;
} else {
  const fault = faults.find(({ name }) => name === values.fault);
  if (values.fault !== undefined && !fault) throw new Error(`There is no fault ${values.fault}.`);
  if (fault) putIn(fault);
  const names =
    fault?.worlds ??
    (positionals.length > 0 ? positionals.filter(isConfigName) : Object.keys(configs).filter(isConfigName));
  process.exitCode = (await exploreAll(names, fault)) ? 1 : 0;
}
