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

/** Returns a time in ISO 8601, in the local zone, with its offset: `2026-11-22T06:12:09+01:00`. */
export function formatTime(time: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return 'no valid time';
  const offset = -date.getTimezoneOffset();
  const local = new Date(time + offset * 60_000);
  if (Number.isNaN(local.getTime())) return 'no valid time';
  const pad = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const zone = `${offset < 0 ? '-' : '+'}${pad(Math.abs(offset) / 60)}:${pad(Math.abs(offset) % 60)}`;
  return local.toISOString().replace(/\.\d+Z$/, zone);
}
