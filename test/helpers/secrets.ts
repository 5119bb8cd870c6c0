import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { expect } from 'vitest';

/** Values that must not be found. A part of the key counts too: half a key makes the other half easier to guess. */
export interface Secrets {
  key: string;
  phone?: string;
  email?: string;
}

const FRAGMENT = 8;
const GETTERS = 'inspect with getters';

function createFinders({ key, phone, email }: Secrets): [string, (text: string) => boolean][] {
  const secretPart = key.replace(/^sk_(?:test|live)_/, '');
  const fragments = [...secretPart].map((_, at) => secretPart.slice(at, at + FRAGMENT));
  const whole = fragments.filter((fragment) => fragment.length === FRAGMENT);
  const digits = phone?.replace(/\D/g, '').slice(-9) ?? '';
  return [
    ['key', (text) => whole.some((fragment) => text.includes(fragment))],
    ['phone', (text) => phone !== undefined && text.includes(phone)],
    ['digits of the phone', (text) => digits !== '' && text.replace(/\D/g, '').includes(digits)],
    ['email', (text) => email !== undefined && text.toLowerCase().includes(email.toLowerCase())],
  ];
}

/**
 * Searches every text that a value can show: of every printer, property and cause. With `getters: false` it skips what only
 * getters return.
 */
export function expectNoSecrets(value: unknown, secrets: Secrets, options: { getters?: boolean } = {}): void {
  const finders = createFinders(secrets);
  const shown =
    options.getters === false ? [...listTexts(value)].filter(isWithoutGetters) : [...listTexts(value)];
  const leaks = shown.flatMap(([where, text]) =>
    finders
      .filter(([, find]) => find(text) || find(decode(text)))
      .map(([what]) => `${what} in ${where}: ${text.slice(0, 2_000)}`),
  );
  expect(leaks).toEqual([]);
}

/** Decodes the escapes of JSON, URLs and HTML, also repeated ones. */
function decode(text: string): string {
  const once = decodeOnce(text);
  return once === text ? text : decode(once);
}

const named: Record<string, string> = { amp: '&', commat: '@', plus: '+', period: '.', sol: '/', quot: '"' };

function decodeOnce(text: string): string {
  return text
    .replace(/&(amp|commat|plus|period|sol|quot);/g, (_, name) => named[name] ?? '')
    .replace(/\\+u([\da-f]{4})|&#x([\da-f]+);|%([\da-f]{2})/gi, (_, json, html, address) =>
      String.fromCharCode(Number.parseInt(json ?? html ?? address, 16)),
    )
    .replace(/&#(\d+);/g, (_, digits) => String.fromCharCode(Number(digits)))
    .replaceAll('\\', '');
}

const isWithoutGetters = ([where]: [string, string]) => !where.startsWith(GETTERS);

/** Yields every text that a value and its own properties show, as `[where, text]`. */
function* listTexts(value: unknown, where = 'it', seen = new Set<unknown>()): Generator<[string, string]> {
  if (typeof value === 'string' || typeof value === 'symbol') yield [where, String(value)];
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (where === 'it' || value instanceof Error) {
    for (const [printer, print] of Object.entries(printers)) yield [`${printer} of ${where}`, print(value)];
  }
  for (const name of Reflect.ownKeys(value)) {
    const property = `${where}[${String(name)}]`;
    yield [`the name ${property}`, String(name)];
    yield* listTexts(Reflect.get(value, name), property, seen);
  }
}

const printers: Record<string, (value: object) => string> = {
  inspect: (value) => inspect(value),
  'inspect, deep': (value) => inspect(value, { depth: 12, showHidden: true }),
  [GETTERS]: (value) => inspect(value, { depth: 12, showHidden: true, getters: true }),
  'inspect without custom inspection': (value) => inspect(value, { depth: 12, customInspect: false }),
  'JSON.stringify': (value) => JSON.stringify(value) ?? '',
  'console.log': (value) => capture((console) => console.log(value)),
  'console.log %o': (value) => capture((console) => console.log('%o', value)),
  'console.table': (value) => capture((console) => console.table(value)),
  'console.dir': (value) => capture((console) => console.dir(value, { showHidden: true, depth: 12 })),
  String: (value) => String(value),
  stack: (value) => (value instanceof Error ? String(value.stack) : ''),
  message: (value) => (value instanceof Error ? value.message : ''),
  'own properties': (value) => inspect(Object.getOwnPropertyDescriptors(value), { depth: 12 }),
};

function capture(print: (console: Console) => void): string {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  print(new Console(stream));
  return text;
}
