import * as z from 'zod/mini';
import type { OperationName } from './api/operations.ts';
import { ConfigurationError } from './errors.ts';
import { describeUnknownOption } from './support/unknown-option.ts';
import { isObject, isPlainObject } from './support/untrusted.ts';

/** A check for each option of a type, and for no other. Write `{ … } satisfies OptionsShape<Options>`. */
export type OptionsShape<Options extends object> = {
  readonly [Name in keyof Options]-?: z.ZodMiniType<Options[Name]>;
};

export interface ParseContext {
  readonly notAnObject?: string;
  /** Before each unknown name in a message. @example 'polling.' */
  readonly prefix?: string;
  /** Words what is wrong with a value, for a schema whose messages do not name the option. */
  readonly describe?: (issue: z.core.$ZodIssue) => string;
  /** Names the call in the error. The outcome of a read is `null` then: its options say nothing about the money. */
  readonly operation?: OperationName | undefined;
}

/**
 * Checks an object of options and returns a copy. JavaScript lets through what the types forbid: an option that cannot
 * work must fail before anything is sent. An option that is `undefined` counts as not given, and `null` does not.
 *
 * @throws {ConfigurationError} if it is not a plain object, or if an option is unknown or cannot work.
 */
export function parseOptions<Shape extends z.core.$ZodShape>(
  schema: z.ZodMiniObject<Shape, z.core.$strict>,
  options: unknown,
  { notAnObject = NOT_AN_OBJECT, prefix, describe = ({ message }) => message, operation }: ParseContext = {},
): z.output<z.ZodMiniObject<Shape, z.core.$strict>> {
  if (!isPlainObject(options)) throw new ConfigurationError(notAnObject, { operation });
  const parsed = schema.safeParse(options, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  for (const issue of issues) {
    const [given] = issue.code === 'unrecognized_keys' ? issue.keys : [];
    if (given === undefined) continue;
    throw new ConfigurationError(describeUnknownOption(given, Object.keys(schema.shape), prefix), {
      operation,
    });
  }
  throw new ConfigurationError(issues[0] ? describe(issues[0]) : 'An option cannot work.', { operation });
}

const NOT_AN_OBJECT = 'The options of a call must be a plain object, such as { signal, timeout }.';

export function optionalValue<Value>(isValid: (value: unknown) => boolean, error: string) {
  return z.optional(z.custom<Value>(isValid, { error }));
}

/** An optional number that `isValid` accepts. Text compares as the number in it, and a BigInt breaks the arithmetic. */
export function optionalNumber(isValid: (value: number) => boolean, error: string) {
  return optionalValue<number>((value) => typeof value === 'number' && isValid(value), error);
}

export function optionalFlag(name: string) {
  return optionalValue<boolean>((value) => typeof value === 'boolean', `${name} must be true or false.`);
}

export function requiredFunction<Value>(name: string) {
  return z.custom<Value>((value) => typeof value === 'function', { error: `${name} must be a function.` });
}

export function optionalFunction<Value>(name: string) {
  return z.optional(requiredFunction<Value>(name));
}

export const unchecked = <Value>() => z.optional(z.custom<Value>());

export const optionalSignal = /* @__PURE__ */ optionalValue<AbortSignal>(
  isAbortSignal,
  'signal must be an AbortSignal.',
);

const SIGNAL_METHODS = ['throwIfAborted', 'addEventListener', 'removeEventListener'];

function isAbortSignal(value: unknown): boolean {
  if (!isObject(value) || typeof Reflect.get(value, 'aborted') !== 'boolean') return false;
  return SIGNAL_METHODS.every((method) => typeof Reflect.get(value, method) === 'function');
}

/** @throws {ConfigurationError} if the environment cannot be read, as on Deno without the permission. */
export function readEnv(name: string): string | undefined {
  try {
    return typeof process === 'undefined' ? undefined : process.env?.[name];
  } catch {
    const advice = `Pass it as an option, or run Deno with --allow-env=${name}.`;
    throw new ConfigurationError(`The environment variable ${name} cannot be read. ${advice}`);
  }
}

/** @throws {ConfigurationError} if a value is what a script or a template makes of a variable that is not set. */
export function refuseUnexpanded(what: string, variable: string, value: string): void {
  if (!/^(?:undefined|null)$|\$\{.*\}/s.test(value)) return;
  throw new ConfigurationError(
    `${what} is the text undefined or null, or has a \${…} in it: is the variable ${variable} set? Nothing was sent.`,
  );
}

/** Names a read in the error of a wrong argument, so that its `outcome` is `null`: it says nothing about the money. */
export function runAsRead<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ConfigurationError) || error.operation !== undefined) throw error;
    throw new ConfigurationError(error.message, { operation: 'verify' });
  }
}
