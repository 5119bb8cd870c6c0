import { referenceSchema } from '../contract/reference.ts';
import type { Redact } from '../redact.ts';
import type { ResponseBuffer } from './received.ts';

/** Headers that can name a transaction, besides the body. */
const NAMING_HEADERS = ['location', 'content-location', 'link'];

/** A reference is looked for in no more than this of a body that is not JSON. */
const LONGEST_SEARCHED = 64 * 1024;

/**
 * Why a response that refuses is no proof that no charge exists, or `undefined` if it is one. A service that names a
 * transaction may have made it before it refused.
 */
export function rejectionProblem(received: ResponseBuffer, isWhole: boolean): string | undefined {
  if (!isWhole || received.truncated) return 'The response is not whole.';
  if (isStillPacked(received)) return 'The response cannot be read.';
  if (/TXN-\S/i.test(readable(received))) return 'The response names a transaction.';
  return undefined;
}

/**
 * The reference in a response that is no result: the one of SPEC.md's place, or else the only one there is. One in other
 * letters than `TXN-…` is not put right: the service might tell references apart by case.
 */
export function extractReference(received: ResponseBuffer, redact: Redact): string | undefined {
  const inPlace = referenceInData(received.json);
  if (inPlace !== undefined) return inPlace;
  const values = textsOf(received.json).filter((text) => referenceSchema.safeParse(text).success);
  const [found, ...others] = new Set(values.length > 0 ? values : mentionedIn(readable(received)));
  // Whatever the service wrote there ends in messages and in the journal.
  return found !== undefined && others.length === 0 && redact(found) === found ? found : undefined;
}

function referenceInData(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('data' in body)) return undefined;
  const { data } = body;
  if (typeof data !== 'object' || data === null || !('reference' in data)) return undefined;
  const reference = referenceSchema.safeParse(data.reference);
  return reference.success ? reference.data : undefined;
}

/** Every text in a JSON value, names of fields too. Nested as deep as it likes. */
function textsOf(json: unknown): string[] {
  const texts: string[] = [];
  const open: unknown[] = [json];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') texts.push(value);
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, item] of Object.entries(value)) open.push(name, item);
  }
  return texts;
}

function mentionedIn(text: string): string[] {
  const mentions = /(?<![\w-])TXN-[\w.~:-]{0,250}\w(?=[.,:;!?]{0,9}(?:[\s"'<>)\]}]|$))/g;
  return (text.slice(0, LONGEST_SEARCHED).match(mentions) ?? []).filter(
    (text) => referenceSchema.safeParse(text).success,
  );
}

/** A content coding that was not unpacked: its bytes are no text. */
function isStillPacked({ headers, text }: ResponseBuffer): boolean {
  const coding = headers.get('content-encoding')?.trim() || 'identity';
  return coding.toLowerCase() !== 'identity' && text.includes('\ufffd');
}

const ESCAPED = /\\u([\da-f]{4})|\\x([\da-f]{2})|%([\da-f]{2})|&#x([\da-f]{1,6});?|&#(\d{1,7});?/gi;

/** Body and headers without the escapes of JSON, addresses and HTML, which may lie in one another; UTF-16 as ASCII. */
function readable({ text, headers }: ResponseBuffer): string {
  const whole = [text, ...NAMING_HEADERS.map((name) => headers.get(name) ?? '')].join('\n');
  return unescaped(unescaped(whole)).replaceAll(/[\\\0]/g, '');
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPED, (written, ...groups: (string | undefined)[]) => {
    const [json, script, address, hexadecimal, decimal] = groups;
    const digits = json ?? script ?? address ?? hexadecimal;
    const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : written;
  });
}
