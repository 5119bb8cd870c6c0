import fc from 'fast-check';
import { expect, test } from 'vitest';
import { networks } from '../../src/index.ts';
import { parseGhanaPhone } from '../../src/phone.ts';
import { chooseSize } from '../helpers/sized.ts';

const numRuns = chooseSize(500, 20_000);

/** A number below a prefix, without the zero. Every number below these is in use. */
const numbers = fc
  .tuple(
    fc.constantFrom('20', '23', '24', '26', '27', '28', '50', '53', '54', '55', '56', '57'),
    fc.stringMatching(/^[0-9]{7}$/),
  )
  .map(([prefix, rest]) => prefix + rest);

const separators = fc.constantFrom(
  '',
  '',
  '',
  ' ',
  '  ',
  '-',
  '.',
  '\u00a0',
  '\u2009',
  '\u202f',
  '\u2011',
  '\u2013',
);
const starts = fc.constantFrom(
  '0',
  '+233',
  '+233 ',
  '+233-',
  '233 ',
  '233',
  '00233',
  '00 233 ',
  '+233 (0)',
  '＋233',
);
const zeros = ['0', '٠', '۰', '０'].map((zero) => zero.charCodeAt(0));

/** Any way to write one number: the start, what stands between the digits, their script, and what surrounds them. */
const writings = (number: string) =>
  fc
    .record({
      start: starts,
      between: fc.array(separators, { minLength: 9, maxLength: 9 }),
      zero: fc.constantFrom(...zeros),
      around: fc.constantFrom(['', ''], [' ', '\n'], ['\u202a', '\u202c'], ['\t', ' ']),
    })
    .map(({ start, between, zero, around: [before, after] }) => {
      const written =
        start + [...number].map((digit, index) => digit + (index < 8 ? between[index] : '')).join('');
      const digits = written.replace(/\d/g, (digit) => String.fromCharCode(zero + Number(digit)));
      return before + digits + after;
    });

test('reads every way to write a number as the same one (property)', () => {
  fc.assert(
    fc.property(
      numbers.chain((number) => fc.tuple(fc.constant(number), writings(number))),
      ([number, text]) => {
        expect(parseGhanaPhone(text)).toEqual({
          phone: `0${number}`,
          network: parseGhanaPhone(`0${number}`)?.network,
        });
      },
    ),
    { numRuns },
  );
});

test('returns ten digits that it reads as themselves, or null (property)', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.stringMatching(/^[+０-９٠-٩0-9 ()./;,x#*-]{0,40}$/),
    fc
      .tuple(starts, fc.string({ unit: fc.constantFrom(...'0123456789 -'), maxLength: 14 }))
      .map((parts) => parts.join('')),
    numbers.chain(writings),
  );
  let read = 0;
  fc.assert(
    fc.property(text, (any) => {
      const parsed = parseGhanaPhone(any);
      if (parsed === null) return;
      read += 1;
      expect(parsed.phone).toMatch(/^0\d{9}$/);
      expect([null, ...networks]).toContain(parsed.network);
      expect(parseGhanaPhone(parsed.phone)).toEqual(parsed);
    }),
    { numRuns },
  );
  expect(read).toBeGreaterThan(numRuns / 10);
});

test('reads no number whose end is missing (property)', () => {
  fc.assert(
    fc.property(starts, fc.stringMatching(/^[0-9]{0,8}$/), (start, rest) => {
      expect(parseGhanaPhone(start + rest)).toBeNull();
    }),
    { numRuns },
  );
});
