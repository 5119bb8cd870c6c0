/**
 * Amounts as decimal text, compared digit by digit: no float ever decides about money.
 *
 * The service takes an amount as a JSON number and gives it back as a string with two decimals (SPEC.md, 2 and 4).
 */

/** SPEC.md, 8: the only limit that is shown. */
export const MINIMUM_AMOUNT = 1;

/** Up to here every amount with two decimals has a double of its own, so what is sent is what was asked for. */
export const MAX_AMOUNT = 2 ** 46;

export type AmountFault = 'not_a_decimal' | 'too_many_decimals' | 'too_small' | 'too_large';

const PLAIN_DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** What stands in the way of sending this amount exactly, or `null`. */
export function amountIssue(amount: number | string): AmountFault | null {
  const value = Number(amount);
  if (value > MAX_AMOUNT) return 'too_large';
  const text = String(amount);
  if (!PLAIN_DECIMAL.test(text)) return 'not_a_decimal';
  if (value < MINIMUM_AMOUNT) return 'too_small';
  const point = text.indexOf('.');
  return point === -1 || text.length - point <= 3 ? null : 'too_many_decimals';
}

/** Whether two decimal amounts are equal: `25.5`, `'25.50'` and `'25.500'` are. */
export function sameAmount(one: number | string, other: number | string): boolean {
  return trimZeros(String(one)) === trimZeros(String(other));
}

/** By index, not by pattern: the tests compare a hundred million amounts. */
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
