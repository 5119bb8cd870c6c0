import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, onTestFinished, vi } from 'vitest';
import { FaultQueue } from '../../../src/developers/service/fault-queue.ts';
import type { Fault } from '../../../src/developers/service/faults.ts';
import { PaymentService } from '../../../src/developers/service/service.ts';
import { findMockResponseIssues } from './mock-responses.ts';

/** These break the shape of a response on purpose, or send none. A slow body is not read, so that it stays slow. */
const BREAKS_RESPONSES: readonly Fault['kind'][] = [
  'status',
  'rateLimited',
  'reset',
  'responseLost',
  'hang',
  'slowBody',
  'truncated',
  'wrongAmount',
  'wrongCurrency',
  'wrongReference',
  'unrecognisedStatus',
];

interface Handling {
  fault: Fault | undefined;
}

const handlings = new AsyncLocalStorage<Handling>();
const { handle } = PaymentService.prototype;
const { take } = FaultQueue.prototype;

/** Checks until the test ends all that mock and sandbox respond: both are this class, behind MSW and behind HTTP. */
export function checkEveryExchange(): void {
  const checks: Promise<string[]>[] = [];
  const taking = vi.spyOn(FaultQueue.prototype, 'take').mockImplementation(function (
    this: FaultQueue<object>,
    isMatch,
  ) {
    const order: object | undefined = take.call(this, isMatch);
    const handling = handlings.getStore();
    // The faults of webhooks have no operation.
    if (handling && order && isOfOperation(order)) handling.fault = order.fault;
    return order;
  });
  const handled = vi.spyOn(PaymentService.prototype, 'handle').mockImplementation(async function (
    this: PaymentService,
    request,
  ) {
    const handling: Handling = { fault: undefined };
    const response = await handlings.run(handling, () => handle.call(this, request));
    const kind = handling.fault?.kind;
    if (kind === undefined || !BREAKS_RESPONSES.includes(kind)) checks.push(check(request, response.clone()));
    return response;
  });
  onTestFinished(async () => {
    taking.mockRestore();
    handled.mockRestore();
    expect((await Promise.all(checks)).flat()).toEqual([]);
  });
}

const isOfOperation = (order: object): order is { fault: Fault } => 'operation' in order;

async function check({ method, url }: Request, response: Response): Promise<string[]> {
  const { pathname } = new URL(url);
  const from = pathname.indexOf('/transactions/');
  const path = from === -1 ? pathname : pathname.slice(from);
  const { status, headers } = response;
  const issues = findMockResponseIssues({ method, path }, { status, headers, body: await response.text() });
  return issues.map((issue) => `${method} ${status}: ${issue}`);
}
