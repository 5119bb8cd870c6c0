/**
 * Amounts as decimal text, compared digit by digit: no float decides about money. An amount is sent as a JSON number and
 * comes back as text with two decimals (docs/reference/service.md, "Amounts and currencies").
 */

/** The only limit that the service documents. */
export const MIN_AMOUNT = 1;

/** Up to this amount, every amount with two decimals has a double of its own, so it is sent exactly. */
export const MAX_AMOUNT = 2 ** 46;

/** Why an amount cannot be sent exactly as it was given. */
export type AmountIssue = 'not_a_decimal' | 'too_many_decimals' | 'too_small' | 'too_large';

/** Returns why this amount cannot be sent exactly, or `null` if it can. */
export function findAmountIssue(amount: number | string): AmountIssue | null {
  const value = Number(amount);
  if (value > MAX_AMOUNT) return 'too_large';
  const text = String(amount);
  if (!PLAIN_DECIMAL.test(text)) return 'not_a_decimal';
  if (value < MIN_AMOUNT) return 'too_small';
  const point = text.indexOf('.');
  return point === -1 || text.length - point <= 3 ? null : 'too_many_decimals';
}

const PLAIN_DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** Whether two decimal amounts are equal: `25.5`, `'25.50'` and `'25.500'` are. */
export function isSameAmount(one: number | string, other: number | string): boolean {
  return trimZeros(String(one)) === trimZeros(String(other));
}

function trimZeros(decimal: string): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  return `${whole.replace(/^0+(?=\d)/, '')}.${fraction.replace(/0+$/, '')}`;
}

/** Returns an amount of the service with two decimals, or `undefined` if it is no amount or would lose a digit. */
export function normalizeAmount(decimal: string): string | undefined {
  const [, whole, fraction = ''] = /^0*(\d{1,30})(?:\.(\d{1,2})0*)?$/.exec(decimal) ?? [];
  return whole === undefined ? undefined : `${whole}.${fraction.padEnd(2, '0')}`;
}
