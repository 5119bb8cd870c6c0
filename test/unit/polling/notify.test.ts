import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import {
  createResetError,
  createScriptedService,
  respondInTurn,
  type ScriptedResponse,
} from '../../helpers/scripted-service.ts';

useFakeClock();

const momentsOf = (seen: { at: number }[]) => seen.map(({ at }) => at);

const cycle: object[] = [];
cycle.push(cycle);

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

const garbage: unknown[] = [
  '',
  'TXN-unknown',
  'TXN-8f2c61d0 ',
  '__proto__',
  'constructor',
  'x'.repeat(10_000),
  undefined,
  null,
  Number.NaN,
  42,
  7n,
  Symbol('notify'),
  {},
  [],
  () => {},
  {
    toString: () => {
      throw new Error('read me not');
    },
  },
];

/** As in JavaScript, where anything can be passed. */
function notifyAnything(client: PaymentsClient, reference: unknown): void {
  Reflect.apply(client.notify, client, [reference]);
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

test('polls each reference in the parsed body of a webhook of any form', async () => {
  const bodies: [reference: string, body: unknown][] = [
    ['TXN-field', { reference: 'TXN-field' }],
    ['TXN-deep', [{ event: 'x', data: [{ payment: { id: 7, ref: 'TXN-deep' } }] }]],
    ['TXN-nested', JSON.parse(`${'['.repeat(20_000)}"TXN-nested"${']'.repeat(20_000)}`)],
    ['TXN-urlencoded', new URLSearchParams({ ref: 'TXN-urlencoded' })],
    ['TXN-text', JSON.stringify({ reference: 'TXN-text' })],
    ['TXN-"odd"', JSON.stringify({ reference: 'TXN-"odd"' })],
    ['TXN-cut', '{"data":{"reference":"TXN-cut","amo'],
    ['TXN-form', 'event=paid&payload=%7B%22reference%22%3A%22TXN-form%22%7D'],
    ['TXN-longer', { text: 'Paid: TXN-longer. Thank you.' }],
    ['TXN-buffer', Buffer.from('{"reference":"TXN-buffer"}')],
    ['TXN-bytes', new TextEncoder().encode('{"reference":"TXN-bytes"}')],
    ['TXN-array-buffer', new TextEncoder().encode('{"reference":"TXN-array-buffer"}').buffer],
    [
      'TXN-other-realm',
      runInNewContext('new Uint8Array(bytes).buffer', { bytes: [...Buffer.from('TXN-other-realm')] }),
    ],
    ['TXN-json-in-field', { payload: '{"data":[{"reference":"TXN-json-in-field"}]}' }],
    ['TXN-base64', { message: { data: btoa('{"reference":"TXN-base64"}') } }],
    ['TXN-jws', `e30.${Buffer.from('{"ÿ":"ÿ?>","reference":"TXN-jws"}').toString('base64url')}.c2ln`],
    ['TXN-cycle', Object.assign(cycle, { reference: 'TXN-cycle' })],
    [
      'TXN-beside',
      [
        revoked,
        {
          get broken() {
            throw new Error('a getter');
          },
        },
        'TXN-beside',
      ],
    ],
  ];
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  for (const [reference] of bodies) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(1_000);
  seen.length = 0;
  for (const [, body] of bodies) client.notify(body);
  await vi.advanceTimersByTimeAsync(500);
  expect(seen.map(({ reference }) => reference).sort()).toEqual(
    bodies.map(([reference]) => reference).sort(),
  );
  client.close();
});

test('takes a body whose text is too long for a regular expression', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(1_000);
  seen.length = 0;
  const notify = () => client.notify(JSON.stringify({ text: 'x'.repeat(8_000_000), reference: REFERENCE }));
  expect(notify).not.toThrow();
  await vi.advanceTimersByTimeAsync(500);
  expect(seen).toMatchObject([{ reference: REFERENCE }]);
  client.close();
});

test('polls the first ten references of a body', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const references = Array.from({ length: 12 }, (_, index) => `TXN-${index}`);
  for (const reference of references) timeSettlement(client.waitForFinalStatus(reference));
  await vi.advanceTimersByTimeAsync(1_000);
  seen.length = 0;
  client.notify({ twice: [references[0], references[0]], references });
  await vi.advanceTimersByTimeAsync(500);
  expect(seen.map(({ reference }) => reference).sort()).toEqual(references.slice(0, 10));
  client.close();
});

test.each([
  ['undefined', undefined],
  ['object', {}],
  ['string', 'event=paid'],
  ['object', new Request('https://shop.example', { method: 'POST', body: '{"reference":"TXN-1"}' })],
])('says once that there is no reference in %s', (type, body) => {
  const error = vi.fn();
  vi.spyOn(console, 'error').mockImplementation(error);
  const { client } = createScriptedService(respondInTurn('pending'));
  client.notify({ reference: REFERENCE });
  expect(error).not.toHaveBeenCalled();
  for (let count = 0; count < 3; count++) client.notify(body);
  expect(error.mock.calls).toEqual([
    [expect.stringMatching(new RegExp(`^payments: notify got ${type} without a reference`))],
  ]);
});

test.each<[string, ScriptedResponse]>([
  ['ends', 'pending'],
  ['fails', createResetError()],
])('polls once more after the poll in flight %s, however often notified', async (_, response) => {
  const { client, seen } = createScriptedService(respondInTurn(response, 'pending', 'success'), {
    latency: 1_500,
  });
  const wait = client.waitForFinalStatus(REFERENCE);
  await vi.advanceTimersByTimeAsync(500);
  for (let count = 0; count < 1_000; count++) client.notify(REFERENCE);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(momentsOf(seen)).toEqual([0, 1_500]);
  await runToEnd(wait);
});

test('never throws, sets no timer and sends nothing without a wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  for (const reference of garbage) notifyAnything(client, reference);
  Reflect.apply(client.notify, client, []);
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toEqual([]);
});

test('makes one extra poll for each of two waits after 300,000 calls', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  timeSettlement(client.waitForFinalStatus('TXN-0'));
  timeSettlement(client.waitForFinalStatus('TXN-1'));
  await vi.advanceTimersByTimeAsync(1_000);
  const anything = (count: number) => [garbage[count % garbage.length], `TXN-${count % 2}`, `TXN-${count}`];
  const flood = (from: number) => {
    for (let count = from; count < from + 10_000; count++)
      for (const value of anything(count)) notifyAnything(client, value);
  };
  const before = heapUsed();
  for (let part = 0; part < 10; part++) {
    flood(part * 10_000);
    await vi.advanceTimersByTimeAsync(99);
  }
  // Anything that were kept of each of the 100,000 references would take more.
  expect(heapUsed() - before).toBeLessThan(4_000_000);
  expect(vi.getTimerCount()).toBe(1);
  expect(seen.map(({ at, reference }) => [at, reference]).sort()).toEqual([
    [0, 'TXN-0'],
    [0, 'TXN-1'],
    [1_000, 'TXN-0'],
    [1_000, 'TXN-1'],
  ]);
  client.close();
});
