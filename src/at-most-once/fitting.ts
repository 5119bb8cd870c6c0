/** So much of an answer's text is kept, in characters: all of it has to be searched for what must not be stored. */
export const MAX_STORED_CHARS = 16 * 1024;
/** As many levels as are searched. */
const MAX_DEPTH = 16;
const TOO_DEEP = '[nested too deep to show]';
const TOO_LONG = '[too long to keep]';
/** Of each value besides its text: many short ones take long too. */
const PER_VALUE_COST = 4;

/**
 * As much of it as is kept, the first fields first. Text is kept whole or not at all: in half of it, half an email or
 * half a key would not be found.
 */
export function truncateJson(whole: object): unknown {
  let budget = MAX_STORED_CHARS;
  const consume = (text: string) => {
    const fits = text.length + PER_VALUE_COST <= budget;
    if (fits) budget -= text.length + PER_VALUE_COST;
    return fits;
  };

  const part = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return [value, TOO_LONG].find(consume);
    if (typeof value !== 'object' || value === null) return consume(String(value)) ? value : undefined;
    if (depth === MAX_DEPTH) return [TOO_DEEP].find(consume);
    if (!consume('')) return undefined;
    return Array.isArray(value) ? items(value, depth + 1) : fields(value, depth + 1);
  };

  const items = (list: unknown[], depth: number): unknown[] =>
    list.map((item) => part(item, depth)).filter((item) => item !== undefined);

  const fields = (object: object, depth: number): object => {
    const kept = Object.entries(object).flatMap(([name, value]) => {
      const item = value !== undefined && consume(name) ? part(value, depth) : undefined;
      return item === undefined ? [] : [[name, item]];
    });
    return Object.fromEntries(kept);
  };

  return part(whole, 0);
}
