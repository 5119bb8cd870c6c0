import type * as z from 'zod/mini';

/** The operations of the service, by the name of the method that calls them. */
export type OperationName = 'initialize' | 'chargeMobileMoney' | 'verify';

/** A field of an answer that is not what was asked for. */
export interface Mismatch {
  field: 'reference' | 'amount' | 'currency';
  expected: string;
  actual: string;
}

/** One operation of the service, whole: the client, the mock and the docs are all made from it. */
export interface Operation<Input, Request extends object, Result> {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  /** Below the base URL; `:reference` stands for the request's own. */
  readonly path: string;
  /** Checks what the caller gives and makes of it what is sent. */
  readonly input: z.ZodMiniType<Request, Input> & { readonly shape: object };
  /** Reads the body of a 2xx answer. */
  readonly answer: z.ZodMiniType<Result>;
  /** Holds a readable answer against the request. */
  readonly mismatches: (result: Result, request: Request) => Mismatch[];
}

/** An operation that creates a transaction: a journal can record its result. */
export interface CreateOperation<Input, Request extends object, Result>
  extends Operation<Input, Request, Result> {
  /** Reads a recorded result as a replay. */
  readonly recorded: z.ZodMiniType<Result>;
}
