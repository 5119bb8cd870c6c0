import { writeFileSync } from 'node:fs';
import { machine } from '../conditions.ts';
import type { Source } from './svg.ts';

/** Keeps the figures of a run, so that its picture can be drawn again without another run. */
export function saveFigures(name: string, figures: object): void {
  const file = new URL(`figures/${name}.json`, import.meta.url);
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

/** Describes the run of `npm run bench` that ends now. */
export function describeRun(): Source {
  const args = process.argv.slice(2).filter((arg) => arg !== '--plot');
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `Node ${process.version.slice(1)}, ${machine()}`,
    command: ['npm run bench --', ...args].join(' '),
  };
}
