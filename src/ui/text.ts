/**
 * Text of others as a terminal can show it. A key can hold any Unicode: an escape sequence, a change of direction or an
 * invisible character would make an operator see something else than what is recorded.
 */

/** Everything that has no glyph of its own, and all spaces but the usual one. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Replaces each character that cannot be seen by its escape, such as `\u202e`. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const code = toHex(character);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** Writes a value as JSON in one line. The escapes are JSON's own, so the value that is read back is the same. */
export function toJsonLine(value: object, redact: (text: string) => string = String): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === 'string' ? redact(item) : item));
  return text.replace(UNPRINTABLE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Quotes an argument for bash and zsh, so that it can be copied into a command. */
export function quoteForShell(argument: string): string {
  if (/^[\w@+:,./][\w@+:,./-]*$/.test(argument)) return argument;
  if (argument.search(UNPRINTABLE) === -1) return `'${argument.replaceAll("'", "'\\''")}'`;
  const escaped = argument.replace(/[\\']/g, '\\$&').replace(UNPRINTABLE, (character) => {
    const code = toHex(character);
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
  });
  return `$'${escaped}'`;
}

function toHex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

const UNITS = [
  ['d', 24 * 60 * 60, 2],
  ['h', 60 * 60, 1],
  ['min', 60, 1],
] as const;

/** Returns how long ago a time was: `3 h ago`. */
export function formatAge(time: number): string {
  const seconds = Math.max(0, Math.floor((Date.now() - time) / 1000));
  if (!Number.isFinite(seconds)) return '?';
  const [unit, length] = UNITS.find(([, size, from]) => seconds >= size * from) ?? ['s', 1];
  return `${Math.floor(seconds / length)} ${unit} ago`;
}

/** Returns a time in ISO 8601, in UTC, as the service gives times: `2026-11-22T05:12:09Z`. */
export function formatTime(time: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return 'no valid time';
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
