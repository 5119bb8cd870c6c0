import * as z from 'zod/mini';

/**
 * An object of the service, or one that was made of it: unknown fields stay, whatever their name is. zod leaves out a
 * field named `__proto__`, because an assignment would make it the prototype. Here it is defined, so that it stays a
 * field like any other.
 */
export function looseObject<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const schema = z.looseObject(shape);
  const { _zod } = schema;
  const { parse } = _zod;
  _zod.parse = (payload, context) => {
    const given = protoField(payload.value);
    const parsed = parse(payload, context);
    // zod has put the new object there by now, also where a field of it is still to be checked.
    if (given?.enumerable && isObject(payload.value)) {
      const field = { value: given.value, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(payload.value, '__proto__', field);
    }
    return parsed;
  };
  // zod runs `parse` itself where a schema has no checks.
  _zod.run = _zod.parse;
  return schema;
}

function protoField(value: unknown): PropertyDescriptor | undefined {
  return isObject(value) ? Object.getOwnPropertyDescriptor(value, '__proto__') : undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
