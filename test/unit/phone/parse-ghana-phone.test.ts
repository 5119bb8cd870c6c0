import { describe, expect, test } from 'vitest';
import { parseGhanaPhone } from '../../../src/phone.ts';

const mtn = { phone: '0244123456', network: 'mtn' };

test.each([
  // Other ways are tried by test/property/phone.test.ts.
  '+2330244123456',
  '24 412 3456',
  '(024) 412-3456',
  '024/412/3456',
  '024\u200b4123456',
  '\u202d024 412 3456\u202c',
  '\ufeff0244123456',
  '+٢٣٣ ٢٤ ٤١٢ ٣٤٥٦',
])('reads %j as one number', (text) => {
  expect(parseGhanaPhone(text)).toEqual(mtn);
});

describe('the network', () => {
  test.each([
    [
      'mtn',
      ['0241234567', '0256123456', '0257123456', '0531234567', '0541234567', '0551234567', '0591234567'],
    ],
    ['telecel', ['0201234567', '0501234567']],
    ['airteltigo', ['0261234567', '0271234567', '0561234567', '0571234567']],
    [null, ['0231234567', '0281234567']],
  ])('is %s by the prefix', (network, phones) => {
    expect(phones.map(parseGhanaPhone)).toEqual(phones.map((phone) => ({ phone, network })));
  });
});

test.each([
  ['nothing', ''],
  ['white space', ' \t\n'],
  ['a word', 'mtn'],
  ['a sign alone', '+'],
  ['a landline', '030 212 3456'],
  ['a landline with the country', '+233 30 212 3456'],
  ['a toll-free number', '0800 12345'],
  ['a short code', '*170#'],
  ['a digit too few', '024412345'],
  ['a digit too many', '02441234567'],
  ['a digit too few with the country', '+23324412345'],
  ['a digit too many with the country', '+2332441234567'],
  ['the end missing after the country without a sign', '233244123'],
  ['the end missing in Arabic-Indic digits', '٢٣٣٢٤٤١٢٣'],
  ['the country twice', '+233 233 24 412 3456'],
  ['the country after a zero', '0233244123456'],
  ['a prefix that is not assigned', '0211234567'],
  ['a number of Nigeria', '+234 803 123 4567'],
  ['a number of Nigeria without a sign', '2348031234567'],
  ['a number of the United Kingdom', '+44 7911 123456'],
  ['a number of Togo', '00228 90 12 34 56'],
  ['letters for digits', '024-CALL-NOW'],
  ['a letter O for a zero', 'O244123456'],
  ['a name before it', 'Ama 0244123456'],
  ['a name after it', '0244123456 Ama'],
  ['an extension', '0244123456 ext. 5'],
  ['a short extension', '0244123456x5'],
  ['two numbers', '0244123456 0201234567'],
  ['two numbers with a slash', '0244123456/0201234567'],
  ['two numbers with a comma', '0244123456, 0201234567'],
  ['two numbers on two lines', '0244123456\n0201234567'],
  ['two signs', '++233244123456'],
  ['a negative number', '-1e9'],
  ['a control character', '0244123456\u0000'],
  ['a long text', '0244123456'.repeat(1_000)],
])('returns null for %s', (_what, text) => {
  expect(parseGhanaPhone(text)).toBeNull();
});

test.each([
  undefined,
  null,
  244123456,
  244123456n,
  {},
  ['0244123456'],
  new File([], '0244123456'),
  Symbol('x'),
])('returns null for a value that is no text: %s', (value) => {
  expect(Reflect.apply(parseGhanaPhone, undefined, [value])).toBeNull();
});
