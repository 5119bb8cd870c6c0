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

/** Makes a fault of pairs of texts: what is found, and what replaces it. */
export function fault(id: string, what: string, file: string, ...texts: readonly string[]): Fault {
  const replace = Array.from({ length: Math.ceil(texts.length / 2) }, (_, index) => {
    const [find = '', by = ''] = texts.slice(2 * index);
    return [find, by] as const;
  });
  return { id, what, file: `src/${file}`, replace };
}

/** Returns the text of a file with the fault in it. @throws if a text is not in the file once */
export function putIn(text: string, { id, file, replace }: Fault): string {
  return replace.reduce((changed, [find, by]) => {
    if (changed.split(find).length !== 2) throw new Error(`${id}: ${file} has not once: ${find}`);
    return changed.replace(find, () => by);
  }, text);
}
