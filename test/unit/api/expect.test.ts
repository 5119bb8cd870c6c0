import { expect, test } from 'vitest';
import { InvalidInputError, type PaymentsClient } from '../../../src/index.ts';
import { catchError, startService } from '../../helpers/service.ts';

const REFERENCE = 'TXN-8f2c61d0';

class Order {
  amount = '25.50';
  currency = 'GHS';
}

/** What a program in JavaScript can pass by mistake. */
const checksNothing: [what: string, given: unknown][] = [
  ['{}', {}],
  ['an amount that is undefined', { amount: undefined }],
  ['an amount that is null', { amount: null }],
  ['a currency alone', { currency: 'GHS' }],
  ['a misspelt column', { ammount: '25.50', currency: 'GHS' }],
  ['a column too many', { amount: '25.50', id: 17 }],
  ['a Map', new Map([['amount', '25.50']])],
  ['a Map with an amount of its own', Object.assign(new Map(), { amount: '25.50' })],
  ['an instance of a class', new Order()],
  ['an amount that is inherited', Object.create({ amount: '25.50' })],
  ['an array', [{ amount: '25.50' }]],
  ['an array with an amount', Object.assign(['25.50'], { amount: '25.50' })],
  ['a function', Object.assign(() => {}, { amount: '25.50' })],
  ['a promise of it', Promise.resolve({ amount: '25.50' })],
  ['text', '25.50'],
  ['a number', 25.5],
  ['null', null],
  ['false', false],
];

type Call = (client: PaymentsClient, expected: never) => Promise<unknown>;

const calls: [name: string, call: Call][] = [
  ['verify', (client, expected) => client.verify(REFERENCE, { expect: expected })],
  [
    'waitForFinalStatus',
    (client, expected) => client.waitForFinalStatus(REFERENCE, { expect: expected, timeout: 50 }),
  ],
  ['watch', async (client, expected) => client.watch(REFERENCE, { expect: expected }).next()],
  [
    'reconcile',
    async (client, expected) => {
      const results = client.reconcile([{ reference: REFERENCE, expect: expected }]);
      for await (const { error } of results) throw error ?? new Error('There is no error.');
    },
  ],
];

for (const [name, call] of calls) {
  test.each(checksNothing)(`${name} refuses an expect that is %s`, async (_, given) => {
    const service = await startService();
    const failure = await catchError(call(service.client(), given as never));
    expect(failure).toBeInstanceOf(InvalidInputError);
    expect(failure).toHaveProperty('issues.0.path', expect.stringMatching(/^expect(?:\.|$)/));
    expect(service.requests).toEqual([]);
  });
}

test('names what an expect must be', async () => {
  const service = await startService();
  const given: object = { expect: new Order() };
  expect(await catchError(service.client().verify(REFERENCE, given))).toMatchObject({
    issues: [
      {
        path: 'expect',
        code: 'invalid_type',
        message: 'must be a plain object with an amount, such as { amount: "25.50", currency: "GHS" }',
      },
    ],
  });
});

test.each([
  undefined,
  { amount: '25.50' },
  { amount: 25.5, currency: undefined },
  { __proto__: null, amount: 25.5 },
])('accepts an expect of %o', async (expected) => {
  const service = await startService();
  const client = service.client();
  expect(await client.verify(REFERENCE, { expect: expected })).toMatchObject({ amount: '25.50' });
  expect(await client.waitForFinalStatus(REFERENCE, { expect: expected })).toMatchObject({ amount: '25.50' });
});
