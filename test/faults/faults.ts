/**
 * Faults that the tests must find: `npm run faults` puts each into the code. Each was once a bug of this package, a break of its
 * design, or is one that somebody could write. The lists are read as patches: `# FILE` of `src/`, then for each fault its id, what the
 * package does then, the lines that are found (`-`), and those that replace them (`+`).
 */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fault that somebody could put into the code by hand, and that the tests must find. */
export interface Fault {
  /** Names it in the table. It begins with the part of the code that it is in, or with the number of a break of the design. */
  readonly id: string;
  /** What the package does then. */
  readonly what: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Texts of the file, each there once, and what replaces them. */
  readonly replace: readonly (readonly [find: string, by: string])[];
}

const PART = /^# (.+)\n|^(\w+): (.+)\n((?:[-+].*\n)+)/gm;
const PAIR = /((?:^-.*\n)+)((?:^\+.*\n)*)/gm;
const toText = (lines = '') => lines.replace(/^[-+]/gm, '').slice(0, -1);

/** Returns what a patch finds, and what replaces it. */
export const parsePatch = (patch: string): Fault['replace'] =>
  [...patch.matchAll(PAIR)].map(([, find, by]) => [toText(find), toText(by)] as const);

/** @throws if a list has something else in it */
function parseList(text: string): Fault[] {
  const rest = text.replace(PART, '').trim();
  if (rest !== '') throw new Error(`This is no fault: ${rest}`);
  let file = '';
  return [...text.matchAll(PART)].flatMap(([, named, id = '', what = '', patch = '']) => {
    if (named !== undefined) file = `src/${named}`;
    return named === undefined ? [{ id, what, file, replace: parsePatch(patch) }] : [];
  });
}

export const faults: readonly Fault[] = globSync(join(import.meta.dirname, 'lists/*.txt'))
  .sort()
  .flatMap((path) => parseList(readFileSync(path, 'utf8')));

/** Returns the text of a file with the fault in it. @throws if a text is not in the file once */
export function putIn(text: string, { id, file, replace }: Fault): string {
  return replace.reduce((changed, [find, by]) => {
    if (changed.split(find).length !== 2) throw new Error(`${id}: ${file} has not once: ${find}`);
    return changed.replace(find, () => by);
  }, text);
}
