/**
 * Amounts as decimal text, compared digit by digit: no float ever decides about money.
 *
 * The service takes an amount as a JSON number and gives it back as a string with two decimals (SPEC.md, 2 and 4).
 */

/** SPEC.md, 8: the only limit that is shown. */
export const MINIMUM_AMOUNT = 1;

/** Up to here every amount with two decimals has a double of its own, so what is sent is what was asked for. */
export const LARGEST_EXACT_AMOUNT = 2 ** 46;

export type AmountFault = 'not_a_decimal' | 'too_many_decimals' | 'too_small' | 'too_large';

const PLAIN_DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const TWO_DECIMALS = /^\d+(?:\.\d{1,2})?$/;

/** What stands in the way of sending this amount exactly, or `null`. */
export function amountFault(amount: number | string): AmountFault | null {
  if (Number(amount) > LARGEST_EXACT_AMOUNT) return 'too_large';
  const text = String(amount);
  if (!PLAIN_DECIMAL.test(text)) return 'not_a_decimal';
  if (Number(text) < MINIMUM_AMOUNT) return 'too_small';
  return TWO_DECIMALS.test(text) ? null : 'too_many_decimals';
}

/** Whether two decimal amounts are equal: `25.5`, `'25.50'` and `'25.500'` are. */
export function sameAmount(one: number | string, other: number | string): boolean {
  return significantDigits(one) === significantDigits(other);
}

function significantDigits(amount: number | string): string {
  const [whole = '', fraction = ''] = String(amount).split('.');
  return `${whole.replace(/^0+(?=\d)/, '')}.${fraction.replace(/0+$/, '')}`;
}
