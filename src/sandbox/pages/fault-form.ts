import { html } from 'hono/html';
import * as z from 'zod/mini';
import type { OperationName } from '../../api/operations.ts';
import type { QueuedFault } from '../../testing/fault-queue.ts';
import type { Fault } from '../../testing/faults.ts';
import {
  describeIssues,
  describeRemaining,
  renderOptions,
  renderRepeat,
  repeatSchema,
  secondsToMilliseconds,
  text,
  wholeNumber,
} from './form-fields.ts';
import type { Html } from './layout.ts';

const operationNames: Record<OperationName, string> = {
  initialize: 'initialize',
  chargeMobileMoney: 'charge-mobile-money',
  verify: 'verify',
};

const kindNames: Record<Fault['kind'], string> = {
  status: 'Status code',
  rateLimited: '429 with Retry-After',
  reset: 'Connection reset before the service acts',
  responseLost: 'Response lost after the service acted',
  hang: 'No response',
  slowBody: 'Slow body',
  truncated: 'Truncated JSON',
  wrongAmount: 'Wrong amount',
  wrongCurrency: 'Wrong currency',
  wrongReference: 'Wrong reference',
  unrecognisedStatus: 'Unrecognised status',
  lateApproval: 'Late approval',
};

/** Renders the form. The style sheet shows only the fields of the selected fault. */
export function renderFaultForm(): Html {
  return html`<form method="post" action="/faults" class="fields" data-stay>
<label>Operation <select name="operation">${renderOptions(operationNames, 'verify')}</select></label>
<label>Fault <select name="kind">${renderOptions(kindNames, 'status')}</select></label>
<label class="of status">Status code <input name="code" type="number" min="200" max="599" value="502" required></label>
<label class="of status">Body <select name="body"><option value="html">HTML page</option><option value="json">JSON</option><option value="empty">none</option></select></label>
<label class="of status hang tick"><input name="accepted" type="checkbox" value="yes"> The service acts first</label>
<label class="of rateLimited">Retry-After, seconds <input name="retryAfter" type="number" min="0" max="86400" value="5" required></label>
<label class="of wrongAmount">Amount <input name="amount" value="2.55" required></label>
<label class="of wrongCurrency">Currency <input name="currency" value="USD" required></label>
<label class="of wrongReference">Reference <input name="reference" value="TXN-another" required></label>
<label class="of unrecognisedStatus">Status <input name="status" value="reversed" required></label>
<label class="of lateApproval">Approved after, seconds <input name="after" type="number" min="0" max="86400" value="60" required></label>
${renderRepeat()}
<button class="primary">Inject</button>
</form>`;
}

/** A fault that the form ordered. */
interface FaultRequest {
  operation: OperationName;
  fault: Fault;
  times: number;
}

const checkbox = z.pipe(
  z.optional(z.literal('yes')),
  z.transform((value) => value === 'yes'),
);

const faultSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('status'),
    code: wholeNumber(200, 599),
    body: z.enum(['json', 'html', 'empty']),
    accepted: checkbox,
  }),
  z.object({ kind: z.literal('rateLimited'), retryAfter: secondsToMilliseconds }),
  z.object({ kind: z.enum(['reset', 'responseLost', 'truncated', 'slowBody']) }),
  z.object({ kind: z.literal('hang'), accepted: checkbox }),
  z.object({ kind: z.literal('wrongAmount'), amount: text }),
  z.object({ kind: z.literal('wrongCurrency'), currency: text }),
  z.object({ kind: z.literal('wrongReference'), reference: text }),
  z.object({ kind: z.literal('unrecognisedStatus'), status: text }),
  z.object({ kind: z.literal('lateApproval'), after: secondsToMilliseconds }),
]);

const requestSchema = z.object({
  operation: z.enum(['initialize', 'chargeMobileMoney', 'verify']),
  times: repeatSchema,
});

/** Parses the fields of the form. Returns a string if they are not valid: what is wrong with them. */
export function parseFaultForm(fields: unknown): FaultRequest | string {
  const request = requestSchema.safeParse(fields);
  const fault = faultSchema.safeParse(fields);
  if (!request.success || !fault.success) {
    return describeIssues(request.error, fault.error);
  }
  const { operation, times } = request.data;
  if (operation === 'verify' && fault.data.kind === 'lateApproval') {
    return 'A verify creates no transaction that could be approved late.';
  }
  if (operation === 'initialize' && fault.data.kind === 'unrecognisedStatus') {
    return 'The response to initialize has no status.';
  }
  if (fault.data.kind !== 'status') return { operation, times, fault: fault.data };
  const { code: status, ...rest } = fault.data;
  return { operation, times, fault: { status, ...rest } };
}

/** Renders the faults that the next requests will meet. */
export function renderQueuedFaults(queued: readonly Readonly<QueuedFault>[]): Html {
  if (queued.length === 0) return html`<div id="queued-faults"><p>No fault is queued.</p></div>`;
  return html`<div id="queued-faults" class="queue">
<ul>${queued.map(
    ({ operation, fault, remaining }) =>
      html`<li><b>${operationNames[operation]}</b>, ${describeRemaining(remaining)}: ${describeFault(fault)}</li>`,
  )}</ul>
<form method="post" action="/faults/stop" data-stay><button>Stop all faults</button></form>
</div>`;
}

function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'status':
      return `status ${fault.status}${fault.accepted ? ', after the service acted' : ''}`;
    case 'rateLimited':
      return `429, Retry-After ${Math.ceil((fault.retryAfter ?? 1000) / 1000)} s`;
    case 'reset':
      return 'connection reset before the service acts';
    case 'responseLost':
      return 'response lost after the service acted';
    case 'hang':
      return `no response${fault.accepted ? ', after the service acted' : ''}`;
    case 'slowBody':
      return 'slow body, one byte at a time';
    case 'truncated':
      return 'truncated JSON';
    case 'wrongAmount':
      return `wrong amount: ${fault.amount}`;
    case 'wrongCurrency':
      return `wrong currency: ${fault.currency}`;
    case 'wrongReference':
      return `wrong reference: ${fault.reference}`;
    case 'unrecognisedStatus':
      return `unrecognised status: ${fault.status ?? 'reversed'}`;
    case 'lateApproval':
      return `approved late, after ${fault.after / 1000} s`;
  }
}
