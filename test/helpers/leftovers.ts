import { isDeepStrictEqual } from 'node:util';
import { vi } from 'vitest';

const EVENTS = ['uncaughtException', 'unhandledRejection', 'warning', 'exit', 'SIGINT', 'SIGTERM'] as const;

/** Returns what a test file can change and the next file of its worker would meet. */
export function readSurroundings(): ReadonlyMap<string, unknown> {
  const places = {
    globalThis,
    Math,
    performance,
    console,
    JSON,
    Date,
    Promise,
    'crypto.subtle': crypto.subtle,
  };
  const globals = Object.entries(places).flatMap(([place, object]) =>
    Object.entries(Object.getOwnPropertyDescriptors(object)).map(
      ([name, { value, get }]) => [`${place}.${name}`, value ?? get] as const,
    ),
  );
  return new Map<string, unknown>([
    ...globals,
    ...EVENTS.map((event) => [`listeners of ${event}`, process.listenerCount(event)] as const),
    ['process.env', { ...process.env }],
    ['process.exitCode', process.exitCode],
    ['process.cwd()', process.cwd()],
    ['fake timers', vi.isFakeTimers()],
  ]);
}

/** Returns the names of what is no longer as it was. What was added is in nobody's way. */
export function findLeftovers(before: ReadonlyMap<string, unknown>): string[] {
  const now = readSurroundings();
  return [...before].flatMap(([name, value]) => {
    const isSame =
      typeof value === 'function' ? now.get(name) === value : isDeepStrictEqual(now.get(name), value);
    return isSame ? [] : [name];
  });
}
