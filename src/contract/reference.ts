import * as z from 'zod/mini';

/**
 * A transaction's reference: `TXN-` and a generated suffix (SPEC.md, 2). It becomes a part of a path, so nothing that
 * could change the path is let through: printable ASCII only, at most 255 characters, no separator, no white space,
 * no `%`, `?` or `#`.
 */
export const referenceSchema = z
  .string({ error: 'must be a string: the reference that initialize or chargeMobileMoney returned' })
  .check(
    z.regex(/^TXN-[!"$&-.0->@-[\]-~]{1,251}$/, {
      error:
        'must be TXN- and a suffix, at most 255 printable ASCII characters, without / \\ % ? # or spaces',
    }),
  );
