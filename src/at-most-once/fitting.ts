/** So much of an answer's text is kept, in characters: all of it has to be searched for what must not be stored. */
export const LONGEST_KEPT = 16 * 1024;
/** As many levels as are searched. */
const DEEPEST = 16;
const TOO_DEEP = '[nested too deep to show]';
const TOO_LONG = '[too long to keep]';
/** Of each value besides its text: many short ones take long too. */
const OVERHEAD = 4;

/**
 * As much of it as is kept, the first fields first. Text is kept whole or not at all: in half of it, half an email or
 * half a key would not be found.
 */
export function fitting(whole: object): unknown {
  let room = LONGEST_KEPT;
  const takes = (text: string) => {
    const fits = text.length + OVERHEAD <= room;
    if (fits) room -= text.length + OVERHEAD;
    return fits;
  };

  const part = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return [value, TOO_LONG].find(takes);
    if (typeof value !== 'object' || value === null) return takes(String(value)) ? value : undefined;
    if (depth === DEEPEST) return [TOO_DEEP].find(takes);
    if (!takes('')) return undefined;
    return Array.isArray(value) ? items(value, depth + 1) : fields(value, depth + 1);
  };

  const items = (list: unknown[], depth: number): unknown[] =>
    list.map((item) => part(item, depth)).filter((item) => item !== undefined);

  const fields = (object: object, depth: number): object => {
    const kept = Object.entries(object).flatMap(([name, value]) => {
      const item = value !== undefined && takes(name) ? part(value, depth) : undefined;
      return item === undefined ? [] : [[name, item]];
    });
    return Object.fromEntries(kept);
  };

  return part(whole, 0);
}
