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

/** By index instead of by pattern, because the exhaustive test compares a hundred million amounts. */
function trimZeros(decimal: string): string {
  let start = 0;
  let end = decimal.length;
  while (start < end - 1 && decimal[start] === '0' && decimal[start + 1] !== '.') start++;
  if (decimal.includes('.')) {
    while (decimal[end - 1] === '0') end--;
    if (decimal[end - 1] === '.') end--;
  }
  return decimal.slice(start, end);
}
