const HIDDEN = '[REDACTED]';
const DEPTH = 16;
const LONGEST_BODY = 16 * 1024;
const EMAIL = /[^\s@<>"'(),:;[\]{}]{1,64}@[^\s@<>"'(),:;[\]{}]{1,255}/gu;
/** Keys of other calls: one that was just replaced, say. */
const ANY_KEY = /\bsk_(?:test|live)_[\w-]+/g;
const PERSONAL_FIELD = /phone|msisdn|mobile_?number|email/i;

/** Takes out what must never be printed: the key, and the customer's phone number and email. */
export interface Redact {
  (text: string): string;
  /** An answer's body as an error may carry it: JSON where it is that, else text, shortened. */
  body(answer: { text: string; json: unknown }): unknown;
}

export function createRedact(apiKey = '', phone?: string): Redact {
  const keys = spellings(apiKey);
  const phones = phone && phonePattern(phone);

  const redact = (text: string) => {
    const withoutKey = keys.reduce((clean, key) => clean.replaceAll(key, HIDDEN), text);
    const withoutKeys = withoutKey.replace(ANY_KEY, HIDDEN);
    return (phones ? withoutKeys.replace(phones, HIDDEN) : withoutKeys).replace(EMAIL, HIDDEN);
  };

  const deep = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return redact(value);
    if (typeof value === 'number') return redact(String(value)) === String(value) ? value : HIDDEN;
    if (!isNested(value)) return value;
    if (depth === DEPTH) return '[nested too deep to show]';
    if (Array.isArray(value)) return value.map((item) => deep(item, depth + 1));
    const clean = Object.entries(value).map(([name, item]) => {
      const hidden = PERSONAL_FIELD.test(name) && !isNested(item);
      return [redact(name), hidden ? HIDDEN : deep(item, depth + 1)];
    });
    return Object.fromEntries(clean);
  };

  const body = ({ text, json }: { text: string; json: unknown }) =>
    json === undefined || text.length > LONGEST_BODY
      ? redact(withoutPartOf(apiKey, text.slice(0, LONGEST_BODY)))
      : deep(json, 0);

  return Object.assign(redact, { body });
}

/** A body that was cut short may end in the middle of an echoed key. */
function withoutPartOf(key: string, text: string): string {
  for (let length = key.length - 1; length > 3; length--) {
    if (text.endsWith(key.slice(0, length))) return `${text.slice(0, -length)}${HIDDEN}`;
  }
  return text;
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A service may echo a key as it is, inside JSON, or inside an address. */
const spellings = (key: string) =>
  [...new Set([key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)])].filter(
    (text) => text !== '',
  );

/** A number comes back in other dress, `024 412 3456` as `+233244123456`: its last nine digits tell it. */
function phonePattern(phone: string): RegExp | undefined {
  const digits = phone.match(/\p{Nd}/gu) ?? [];
  if (digits.length < 4) return undefined;
  return new RegExp(`(?:\\+?\\d{1,4}[\\s().-]{0,2})?${digits.slice(-9).join('[\\s().-]{0,2}')}`, 'g');
}
