/**
 * For forms: reads a Ghanaian mobile number, however the customer wrote it. It needs `libphonenumber-js`, an optional peer
 * dependency. The client does not use it, and refuses no number by it.
 *
 * @module payment-collection-client/phone
 */

// Of the library's three sets of metadata, only this one and the larger `max` distinguish a mobile number from a landline.
import { parsePhoneNumberFromString } from 'libphonenumber-js/mobile';
import type { Network } from './api/input.ts';

export type { Network } from './api/input.ts';

/** A Ghanaian mobile number. */
export interface ParsedGhanaPhone {
  /** `0` and nine digits, such as `0244123456`. It is the same for every way of writing one number. */
  readonly phone: string;
  /**
   * The network that the prefix was assigned to, or `null` if the service has no such network. Customers keep their number
   * when they change the network, so let the customer choose, and use this as the default.
   */
  readonly network: Network | null;
}

/**
 * The network of each prefix, without the `0`. The National Communications Authority assigns them. It publishes its plan
 * through the ITU: https://www.itu.int/oth/T0202000052/en. Glo (023) and Expresso (028) have no network of the service.
 */
const networksByPrefix: Readonly<Record<string, Network>> = {
  20: 'telecel',
  24: 'mtn',
  25: 'mtn',
  26: 'airteltigo',
  27: 'airteltigo',
  50: 'telecel',
  53: 'mtn',
  54: 'mtn',
  55: 'mtn',
  56: 'airteltigo',
  57: 'airteltigo',
  59: 'mtn',
};

/**
 * Reads a mobile number of Ghana: `024 412 3456`, `+233244123456`, `233 24 412 3456`, `00233…`, `+233 (0)24 412 3456`, and
 * `24 412 3456`. It accepts spaces, dashes, dots and brackets, and full-width and Arabic-Indic digits.
 *
 * Normalise with it before you charge under an `idempotencyKey`: for the journal, a phone that is written in two ways is
 * two inputs.
 *
 * @returns `null` for anything else: a landline, a foreign number, too few or too many digits, letters, an extension,
 * several numbers, and a range that the installed `libphonenumber-js` does not know yet. It throws for no input.
 *
 * @example
 * ```ts
 * parseGhanaPhone('+233 24 412 3456'); // { phone: '0244123456', network: 'mtn' }
 * parseGhanaPhone('030 212 3456'); // null: a landline
 * ```
 */
export function parseGhanaPhone(text: string): ParsedGhanaPhone | null {
  if (typeof text !== 'string') return null;
  // A number that is copied from a list of contacts can have invisible marks of the writing direction around it.
  const visible = text
    .replace(/\p{Cf}/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
  const number = parsePhoneNumberFromString(visible, { defaultCountry: 'GH', extract: false });
  if (number?.country !== 'GH' || number.getType() !== 'MOBILE' || number.ext !== undefined) return null;
  const { nationalNumber } = number;
  // Nine digits that begin with the country's code can also be an MTN number whose end is missing.
  if (nationalNumber.startsWith('233') && visible.match(/\p{Nd}/gu)?.length === 9) return null;
  return {
    phone: `0${nationalNumber}`,
    network: networksByPrefix[nationalNumber.slice(0, 2)] ?? null,
  };
}
