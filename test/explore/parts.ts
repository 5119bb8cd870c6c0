/** Parts of a state as numbers, so that a state is compared and remembered in a few of them. */

/** A part of a state: its text without the names of attempts, as a number, and these names in order. */
export interface Part {
  readonly shape: number;
  readonly ids: readonly string[];
}

const shapes = new Map<string, number>();
const parts = new WeakMap<object, Part>();
const NOTHING: Part = { shape: -1, ids: [] };

/** Returns a part for a value that never changes. */
export function toPart(value: object | null, toText: () => string = () => JSON.stringify(value)): Part {
  if (!value) return NOTHING;
  const known = parts.get(value);
  if (known) return known;
  const ids: string[] = [];
  const text = toText().replace(/\bt\d+\b/g, (id) => {
    ids.push(id);
    return 't';
  });
  const shape = shapes.get(text) ?? shapes.size;
  shapes.set(text, shape);
  const part = { shape, ids };
  parts.set(value, part);
  return part;
}

export const isSamePart = (one: Part, other: Part) =>
  one.shape === other.shape && one.ids.every((id, index) => id === other.ids[index]);

/** Returns a hash of 52 bits. Attempts count by the order in which they appear, so that their names make no difference. */
export function hashParts(list: readonly (readonly Part[])[]): number {
  const names = new Map<string, number>();
  let one = 0x811c9dc5;
  let two = 0x9e3779b9;
  const add = (value: number) => {
    one = Math.imul(one ^ value, 0x01000193);
    one ^= one >>> 15;
    two = Math.imul(two ^ value, 0x85ebca6b);
    two ^= two >>> 13;
  };
  for (const group of list) {
    add(group.length);
    for (const { shape, ids } of group) {
      add(shape);
      for (const id of ids) {
        const name = names.get(id) ?? names.size;
        names.set(id, name);
        add(name + 0x10000);
      }
    }
  }
  return (one >>> 0) * 0x100000 + ((two >>> 0) & 0xfffff);
}
