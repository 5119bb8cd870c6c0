import { ConfigurationError } from './errors.ts';

/** The longest name that is compared with others or shown. */
const LONGEST_NAME = 40;
const MOST_WORDS = 5;
const LONGEST_LIST = 120;

/**
 * Refuses an option that does not exist, with the nearest one that does. Its name is shown only if it is a plain name: a
 * caller may have put a key or a phone number in its place.
 *
 * @throws ConfigurationError if `others` has an option: what was left of the given ones
 */
export function refuseUnknownOption(
  others: object,
  known: Readonly<Record<string, true>>,
  inside = '',
): void {
  const [given] = Object.keys(others);
  if (given === undefined) return;
  const names = Object.keys(known).filter((name) => name !== given);
  const nearest = nearestName(given, names);
  const named =
    nearest !== undefined || isPlainName(given) ? ` "${inside}${given}"` : ', whose name is not shown';
  const all = names.join(', ');
  const list = all.length > LONGEST_LIST ? `${all.slice(0, all.lastIndexOf(',', LONGEST_LIST))} …` : all;
  const advice = nearest === undefined ? `There are: ${list}.` : `Did you mean ${inside}${nearest}?`;
  throw new ConfigurationError(`Unknown option${named}. ${advice}`);
}

/** Whether a name is made of a few short words, as the names of options, fields and headers are: no key is. */
export function isPlainName(name: string): boolean {
  const words = name.split(/[-_]|(?=[A-Z])/).filter(Boolean);
  return (
    name.length <= LONGEST_NAME &&
    !/^sk_/i.test(name) &&
    words.length > 0 &&
    words.length <= MOST_WORDS &&
    words.every((word) => /^[A-Za-z][a-z]{0,15}\d{0,2}$/.test(word))
  );
}

/** The known name that was probably meant: it differs by at most two letters, and by fewer than a third of its own. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  if (given.length > LONGEST_NAME) return undefined;
  const plain = (name: string) => name.toLowerCase().replace(/[-_ ]/g, '');
  let nearest: string | undefined;
  let least = 2.5;
  for (const name of known) {
    const distance = editDistance(plain(given), plain(name));
    if (distance >= least || distance > name.length / 3) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** How many letters have to be inserted, left out or replaced. */
function editDistance(one: string, other: string): number {
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
