import { html } from 'hono/html';
import * as z from 'zod/mini';
import type { Html } from './layout.ts';

export function renderOptions(names: Readonly<Record<string, string>>, selected: string): Html[] {
  return Object.entries(names).map(
    ([value, name]) =>
      html`<option value="${value}"${value === selected ? html` selected` : ''}>${name}</option>`,
  );
}

/** Renders how often a fault is to happen. */
export function renderRepeat(): Html {
  const names = { 1: 'once', 3: '3 times', 10: '10 times', always: 'until stopped' };
  return html`<label>Repeat <select name="times">${renderOptions(names, '1')}</select></label>`;
}

export function describeRemaining(remaining: number): string {
  return remaining === Number.POSITIVE_INFINITY ? 'until stopped' : `${remaining} remaining`;
}

export const wholeNumber = (min: number, max: number) =>
  z.coerce.number().check(z.multipleOf(1), z.gte(min), z.lte(max));

/** What {@link renderRepeat} sends. */
export const repeatSchema = z.union([
  z.pipe(
    z.literal('always'),
    z.transform(() => Number.POSITIVE_INFINITY),
  ),
  wholeNumber(1, 1000),
]);

export const secondsToMilliseconds = z.pipe(
  z.coerce.number().check(z.gte(0), z.lte(86_400)),
  z.transform((seconds) => seconds * 1000),
);

export const text = z.string().check(z.minLength(1), z.maxLength(255));

/** A field that can be left empty. */
export const optionalText = z.pipe(
  z.optional(z.string().check(z.maxLength(255))),
  z.transform((value) => (value === '' ? undefined : value)),
);

/** Describes what is wrong with the fields of a form. */
export function describeIssues(...errors: (z.core.$ZodError | undefined)[]): string {
  return errors
    .flatMap((error) => error?.issues ?? [])
    .map(({ path, message }) => `${path.join('.')}: ${message}`)
    .join('; ');
}
