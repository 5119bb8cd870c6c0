import * as z from 'zod/mini';
import { findNearestName, isPlainName } from '../../support/unknown-option.ts';

/** Creates an object that refuses a field that does not exist, and names those that do. */
export function strict<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodMiniObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? describeUnknown(issue.keys, known) : 'must be a JSON object',
  });
}

function describeUnknown([given = '']: readonly string[], known: readonly string[]): string {
  const nearest = findNearestName(given, known);
  const name = nearest !== undefined || isPlainName(given) ? ` "${given}"` : '';
  if (nearest !== undefined) return `has an unknown field${name}. Did you mean ${nearest}?`;
  return `has an unknown field${name}. ${known.length > 0 ? `There are: ${known.join(', ')}` : 'It has no fields'}`;
}

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` });
}

export function wholeNumber(min: number, max: number, what = 'a whole number') {
  const error = `must be ${what} from ${min} to ${max}`;
  return z.number({ error }).check(z.multipleOf(1, { error }), z.gte(min, { error }), z.lte(max, { error }));
}

/** A duration. Fractions are allowed, because tests compute them. */
export function milliseconds(max: number, min = 0) {
  const error = `must be milliseconds from ${min} to ${max}`;
  return z.number({ error }).check(z.gte(min, { error }), z.lte(max, { error }));
}

export const text = z.string({ error: 'must be a string' });
export const flag = z.boolean({ error: 'must be true or false' });

/**
 * Returns a value as its schema has it: a copy, so that a later change of the value changes nothing.
 *
 * @throws {RangeError} if a number or a length is out of its range
 * @throws {TypeError} if anything else is not valid
 */
export function parseOrThrow<T>(schema: z.ZodMiniType<T>, value: unknown, name: string): T {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  // A misspelt field is often the reason why another one is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  const message = issue ? describeIssue(issue, name) : `${name} is not valid.`;
  throw issue && isOutOfRange(issue) ? new RangeError(message) : new TypeError(message);
}

function isOutOfRange(issue: z.core.$ZodIssue): boolean {
  const isNumber = issue.code === 'invalid_type' && issue.expected === 'number';
  return isNumber || ['too_big', 'too_small', 'not_multiple_of'].includes(issue.code);
}

/** Names the field and what is wrong with it. Only a number is shown: a text can be a key or a phone number. */
export function describeIssue(issue: z.core.$ZodIssue, name = 'It'): string {
  const { path, message, input } = issue;
  const whole = `${path.join('.') || name} ${message}`;
  if (/[.?]$/.test(whole)) return whole;
  if (isOutOfRange(issue) && typeof input === 'number') return `${whole}, not ${input}.`;
  return issue.code === 'invalid_type' ? `${whole}, not ${typeof input}.` : `${whole}.`;
}
