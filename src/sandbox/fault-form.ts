import * as z from 'zod/mini';
import type { OperationName } from '../api/operations.ts';
import type { Fault } from '../testing/faults.ts';

/** A fault as the dashboard's form orders it. */
export interface FaultRequest {
  operation: OperationName;
  fault: Fault;
  times: number;
}

const whole = (least: number, most: number) =>
  z.coerce.number().check(z.multipleOf(1), z.gte(least), z.lte(most));

const milliseconds = z.pipe(
  z.coerce.number().check(z.gte(0), z.lte(86_400)),
  z.transform((seconds) => seconds * 1000),
);

const ticked = z.pipe(
  z.optional(z.literal('yes')),
  z.transform((value) => value === 'yes'),
);

const text = z.string().check(z.minLength(1), z.maxLength(255));

const simple = z.enum(['reset', 'responseLost', 'truncated', 'slowBody']);

const fault = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('status'),
    code: whole(200, 599),
    body: z.enum(['json', 'html', 'empty']),
    accepted: ticked,
  }),
  z.object({ kind: z.literal('rateLimited'), retryAfter: milliseconds }),
  z.object({ kind: simple }),
  z.object({ kind: z.literal('hang'), accepted: ticked }),
  z.object({ kind: z.literal('wrongAmount'), amount: text }),
  z.object({ kind: z.literal('wrongCurrency'), currency: text }),
  z.object({ kind: z.literal('wrongReference'), reference: text }),
  z.object({ kind: z.literal('unrecognisedStatus'), status: text }),
  z.object({ kind: z.literal('lateApproval'), after: milliseconds }),
]);

const order = z.object({
  operation: z.enum(['initialize', 'chargeMobileMoney', 'verify']),
  times: z.union([
    z.pipe(
      z.literal('always'),
      z.transform(() => Number.POSITIVE_INFINITY),
    ),
    whole(1, 1000),
  ]),
});

/** Reads the form; a string says what is wrong with it. */
export function parseFaultForm(fields: unknown): FaultRequest | string {
  const ordered = order.safeParse(fields);
  const read = fault.safeParse(fields);
  if (!ordered.success || !read.success) {
    const issues = [...(ordered.error?.issues ?? []), ...(read.error?.issues ?? [])];
    return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  }
  const { operation, times } = ordered.data;
  if (operation === 'verify' && read.data.kind === 'lateApproval') {
    return 'A verify creates nothing that could be approved late.';
  }
  if (operation === 'initialize' && read.data.kind === 'unrecognisedStatus') {
    return 'The answer to initialize has no status.';
  }
  if (read.data.kind !== 'status') return { operation, times, fault: read.data };
  const { code: status, ...rest } = read.data;
  return { operation, times, fault: { status, ...rest } };
}

/** The fault in a few words. */
export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'status':
      return `status ${fault.status}${fault.accepted ? ', after the service acted' : ''}`;
    case 'rateLimited':
      return `429, Retry-After ${Math.ceil((fault.retryAfter ?? 1000) / 1000)} s`;
    case 'reset':
      return 'the connection breaks before the service acts';
    case 'responseLost':
      return 'the answer is lost after the service acted';
    case 'hang':
      return `no answer ever${fault.accepted ? ', though the service acted' : ''}`;
    case 'slowBody':
      return 'the answer comes byte by byte';
    case 'truncated':
      return 'the JSON ends in the middle';
    case 'wrongAmount':
      return `another amount: ${fault.amount}`;
    case 'wrongCurrency':
      return `another currency: ${fault.currency}`;
    case 'wrongReference':
      return `another reference: ${fault.reference}`;
    case 'unrecognisedStatus':
      return `an unknown status: ${fault.status ?? 'reversed'}`;
    case 'lateApproval':
      return `approved late, after ${fault.after / 1000} s`;
  }
}
