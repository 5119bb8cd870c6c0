import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, expect } from 'vitest';
import { FaultQueue } from '../../../src/testing/fault-queue.ts';
import type { Fault } from '../../../src/testing/faults.ts';
import { PaymentService } from '../../../src/testing/service.ts';
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
let checks: Promise<string[]>[] = [];

// Mock and sandbox are this class behind MSW and behind HTTP. A test that imports this file checks all that they respond.
FaultQueue.prototype.take = function (operation) {
  const fault = take.call(this, operation);
  const handling = handlings.getStore();
  if (handling) handling.fault = fault;
  return fault;
};
PaymentService.prototype.handle = async function (request) {
  const handling: Handling = { fault: undefined };
  const response = await handlings.run(handling, () => handle.call(this, request));
  const kind = handling.fault?.kind;
  if (kind === undefined || !BREAKS_RESPONSES.includes(kind)) checks.push(check(request, response.clone()));
  return response;
};

async function check({ method, url }: Request, response: Response): Promise<string[]> {
  const { pathname } = new URL(url);
  const from = pathname.indexOf('/transactions/');
  const path = from === -1 ? pathname : pathname.slice(from);
  const { status, headers } = response;
  const issues = findMockResponseIssues({ method, path }, { status, headers, body: await response.text() });
  return issues.map((issue) => `${method} ${status}: ${issue}`);
}

afterEach(async () => {
  const all = checks;
  checks = [];
  expect((await Promise.all(all)).flat()).toEqual([]);
});
