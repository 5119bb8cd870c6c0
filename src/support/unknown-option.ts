/**
 * Describes an option that does not exist, and names the nearest one that does. The name is shown only if it is a plain
 * name: a caller can have put a key or a phone number in its place.
 */
export function describeUnknownOption(given: string, known: readonly string[], prefix = ''): string {
  const names = known.filter((name) => name !== given);
  const nearest = findNearestName(given, names);
  const named =
    nearest !== undefined || isPlainName(given) ? ` "${prefix}${given}"` : ', whose name is not shown';
  const all = names.join(', ');
  const list = all.length > MAX_LIST_CHARS ? `${all.slice(0, all.lastIndexOf(',', MAX_LIST_CHARS))} …` : all;
  const advice = nearest === undefined ? `There are: ${list}.` : `Did you mean ${prefix}${nearest}?`;
  return `Unknown option${named}. ${advice}`;
}

const MAX_LIST_CHARS = 120;

/** The longest name that is compared with others or shown. */
const MAX_NAME_CHARS = 40;
const MAX_WORDS = 5;

/** Whether a name is made of a few short words, as the names of options, fields and headers are. No key is. */
export function isPlainName(name: string): boolean {
  const words = name.split(/[-_]|(?=[A-Z])/).filter(Boolean);
  return (
    name.length <= MAX_NAME_CHARS &&
    !/^sk_/i.test(name) &&
    words.length > 0 &&
    words.length <= MAX_WORDS &&
    words.every((word) => /^[A-Za-z][a-z]{0,15}\d{0,2}$/.test(word))
  );
}

/** Returns the known name that was probably meant: at most two letters differ, and at most a third of its own. */
export function findNearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > MAX_NAME_CHARS) return undefined;
  const normalize = (name: string) => name.toLowerCase().replace(/[-_ ]/g, '');
  let nearest: string | undefined;
  let least = MAX_DISTANCE + 1;
  for (const name of known) {
    const distance = countEdits(normalize(given), normalize(name));
    if (distance >= least || distance > name.length / 3) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

const MAX_DISTANCE = 2;

/** Counts the letters to insert, leave out or replace (the Levenshtein distance). */
function countEdits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 0; at < one.length; at++) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to++) {
      const replaced = (row[to] ?? 0) + (one[at] === other[to] ? 0 : 1);
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
