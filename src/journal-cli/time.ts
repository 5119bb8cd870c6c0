/** Times as an operator reads them. */

const UNITS = [
  ['d', 24 * 60 * 60, 2],
  ['h', 60 * 60, 1],
  ['min', 60, 1],
] as const;

/** Returns how long ago a time was: `3 h ago`. */
export function formatAge(time: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - time) / 1000));
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
