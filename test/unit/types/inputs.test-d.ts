import { describe, expectTypeOf, test } from 'vitest';
import type * as z from 'zod/mini';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import {
  type ChargeMobileMoneyInput,
  type CreateArguments,
  type CreateOptions,
  type chargeMobileMoneyInputSchema,
  type Expectation,
  type InitializeInput,
  initializeInputSchema,
  type Journal,
  type KeyedOptions,
  type Network,
  PaymentsClient,
  type PaymentsClientOptions,
  type PollingOptions,
  type ReconcileItem,
  type RequestOptions,
  type UnkeyedOptions,
  type VerifyOptions,
  type WaitOptions,
} from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';

declare const payments: PaymentsClient;
declare const journal: Journal;
declare const wrapped: CreateOptions;
declare const anyText: string;
const payment = { amount: 1, customer_email: 'ama@example.com' };
const charge = { ...payment, phone: '0244123456', network: 'mtn' } as const;

describe('inputs', () => {
  test('have exactly the documented fields', () => {
    expectTypeOf<InitializeInput>().toEqualTypeOf<{
      amount: number | string;
      customer_email: string;
      currency?: string | undefined;
    }>();
    expectTypeOf<ChargeMobileMoneyInput>().toEqualTypeOf<{
      amount: number | string;
      customer_email: string;
      currency?: string | undefined;
      phone: string;
      network: Network;
    }>();
    expectTypeOf<Network>().toEqualTypeOf<'mtn' | 'telecel' | 'airteltigo'>();
    expectTypeOf<Expectation>().toEqualTypeOf<{
      amount: number | string;
      currency?: string | undefined;
    }>();
  });

  test('refuse an unknown network', () => {
    expectTypeOf(payments.chargeMobileMoney).toBeCallableWith(charge);
    // @ts-expect-error Telecel was Vodafone once.
    payments.chargeMobileMoney({ ...charge, network: 'vodafone' });
    // @ts-expect-error The wire's names are in lower case.
    payments.chargeMobileMoney({ ...charge, network: 'MTN' });
    // @ts-expect-error Not every text is a network.
    payments.chargeMobileMoney({ ...charge, network: anyText });
  });

  test('refuse misspelt fields: curency must not silently charge GHS', () => {
    // @ts-expect-error currency
    payments.initialize({ amount: 1, customer_email: 'ama@example.com', curency: 'USD' });
    // @ts-expect-error customer_email
    payments.initialize({ amount: 1, customerEmail: 'ama@example.com' });
    // @ts-expect-error A payment by checkout page has no phone.
    payments.initialize({ amount: 1, customer_email: 'ama@example.com', phone: '0244123456' });
    // @ts-expect-error expect, not expected
    payments.verify('TXN-1', { expected: { amount: 1 } });
    // @ts-expect-error currency
    payments.verify('TXN-1', { expect: { amount: 1, curency: 'USD' } });
    // @ts-expect-error expect, not expected
    payments.reconcile([{ reference: 'TXN-1', expected: { amount: 1 } }]);
  });

  test('refuse a field that is missing or of another type', () => {
    // @ts-expect-error There is no amount.
    payments.initialize({ customer_email: 'ama@example.com' });
    // @ts-expect-error An amount is a number or text.
    payments.initialize({ ...payment, amount: 5n });
    // @ts-expect-error null is not "left out".
    payments.initialize({ ...payment, currency: null });
    // @ts-expect-error A phone number is text: as a number it loses its first zero.
    payments.chargeMobileMoney({ ...charge, phone: 244123456 });
    // @ts-expect-error Without an amount, nothing is compared.
    payments.verify('TXN-1', { expect: {} });
    // @ts-expect-error Without an amount, nothing is compared.
    payments.waitForFinalStatus('TXN-1', { expect: { amount: undefined, currency: 'GHS' } });
    // @ts-expect-error Each reference has an amount of its own.
    payments.reconcile(['TXN-1'], { expect: { amount: 1 } });
    // @ts-expect-error A reference is text.
    payments.verify({ reference: 'TXN-1' });
  });

  test('are the input of the exported schemas, and their output too', () => {
    expectTypeOf<z.input<typeof initializeInputSchema>>().toEqualTypeOf<InitializeInput>();
    expectTypeOf<z.output<typeof initializeInputSchema>>().toExtend<InitializeInput>();
    expectTypeOf<z.input<typeof chargeMobileMoneyInputSchema>>().toEqualTypeOf<ChargeMobileMoneyInput>();
    expectTypeOf<z.output<typeof chargeMobileMoneyInputSchema>>().toExtend<ChargeMobileMoneyInput>();
    payments.initialize(initializeInputSchema.parse({}));
  });
});

/** The names of the options that accept `undefined` under exactOptionalPropertyTypes. */
type TakesUndefined<Options> = {
  [Name in keyof Options]-?: Record<Name, undefined> extends Pick<Options, Name> ? Name : never;
}[keyof Options];

describe('options', () => {
  test('takes a boolean alone for each dangerous option', () => {
    expectTypeOf<PaymentsClientOptions['dangerouslyAllowHttp']>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<PaymentsClientOptions['dangerouslyAllowBrowser']>().toEqualTypeOf<boolean | undefined>();
    // @ts-expect-error text of an environment variable
    new PaymentsClient({ dangerouslyAllowHttp: 'true' });
  });

  test('can all be undefined under exactOptionalPropertyTypes', () => {
    expectTypeOf<TakesUndefined<PaymentsClientOptions>>().toEqualTypeOf<keyof PaymentsClientOptions>();
    expectTypeOf<TakesUndefined<RequestOptions>>().toEqualTypeOf<keyof RequestOptions>();
    expectTypeOf<TakesUndefined<UnkeyedOptions>>().toEqualTypeOf<keyof UnkeyedOptions>();
    expectTypeOf<TakesUndefined<VerifyOptions>>().toEqualTypeOf<keyof VerifyOptions>();
    expectTypeOf<TakesUndefined<WaitOptions>>().toEqualTypeOf<keyof WaitOptions>();
    expectTypeOf<TakesUndefined<PollingOptions>>().toEqualTypeOf<keyof PollingOptions>();
    expectTypeOf<TakesUndefined<Expectation>>().toEqualTypeOf<'currency'>();
    expectTypeOf<TakesUndefined<ReconcileItem>>().toEqualTypeOf<'expect' | 'startedAt'>();
    expectTypeOf(payments.initialize).toBeCallableWith({ ...payment, currency: undefined }, undefined);
    const { PAYMENTS_API_KEY: apiKey, PAYMENTS_BASE_URL: baseUrl } = process.env;
    expectTypeOf(PaymentsClient).toBeConstructibleWith({ apiKey, baseUrl });
    expectTypeOf(PaymentsClient).toBeConstructibleWith();
  });

  test('of a call require an idempotencyKey that is not undefined', () => {
    const job: { key?: string } = {};
    payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
    payments.chargeMobileMoney(charge, { idempotencyKey: null, timeout: 5_000 });
    payments.chargeMobileMoney(charge, { idempotencyKey: job.key ?? null });
    payments.initialize(payment, { timeout: 5_000 });
    // @ts-expect-error The key can be undefined.
    payments.chargeMobileMoney(charge, { idempotencyKey: job.key });
    // @ts-expect-error It is undefined.
    payments.chargeMobileMoney(charge, { idempotencyKey: undefined });
    // @ts-expect-error The key can be undefined.
    payments.initialize(payment, { idempotencyKey: job.key });
    // A wrapper hands on what it was given.
    const wrapped = (options: CreateOptions) => payments.chargeMobileMoney(charge, options);
    expectTypeOf(wrapped).toBeCallableWith({ idempotencyKey: 'order-17' });
  });

  test('accept a key, or a function that returns one', () => {
    expectTypeOf(PaymentsClient).toBeConstructibleWith({ apiKey: () => 'sk_test_1' });
    expectTypeOf(PaymentsClient).toBeConstructibleWith({ apiKey: async () => 'sk_test_1' });
    // @ts-expect-error A promise would give one key only.
    new PaymentsClient({ apiKey: Promise.resolve('sk_test_1') });
    // @ts-expect-error The key alone is not the options.
    new PaymentsClient('sk_test_1');
  });

  test('accept common fetches and loggers', () => {
    expectTypeOf(PaymentsClient).toBeConstructibleWith({ fetch, logger: console });
    expectTypeOf(payments.verify).toBeCallableWith('TXN-1', { signal: AbortSignal.timeout(5) });
    expectTypeOf(payments.initialize).toBeCallableWith(payment, { extraBody: { callback_url: 'https://…' } });
  });

  test('refuse misspelt and misplaced ones', () => {
    // @ts-expect-error timeout
    new PaymentsClient({ timeOut: 5 });
    // @ts-expect-error A signal ends one call, not a client.
    new PaymentsClient({ signal: AbortSignal.timeout(5) });
    // @ts-expect-error The controller is not its signal.
    payments.verify('TXN-1', { signal: new AbortController() });
    // @ts-expect-error A read has no body.
    payments.verify('TXN-1', { extraBody: {} });
    // @ts-expect-error There is nothing yet to expect.
    payments.initialize(payment, { expect: { amount: 1 } });
  });
});

describe('a client with a journal', () => {
  const keyed = new PaymentsClient({ journal });
  const { chargeMobileMoney } = keyed;

  test('requires an idempotencyKey of each charge', () => {
    expectTypeOf(keyed).toEqualTypeOf<PaymentsClient<Journal>>();
    expectTypeOf(chargeMobileMoney).parameters.toEqualTypeOf<[ChargeMobileMoneyInput, KeyedOptions]>();
    expectTypeOf(chargeMobileMoney).toBeCallableWith(charge, { idempotencyKey: 'order-17/1' });
    expectTypeOf(chargeMobileMoney).toBeCallableWith(charge, { idempotencyKey: null });
    expectTypeOf(keyed.initialize).toBeCallableWith(payment);
    expectTypeOf(keyed.initialize).toBeCallableWith(payment, { timeout: 5 });
    // @ts-expect-error There is no key.
    keyed.chargeMobileMoney(charge);
    // @ts-expect-error There is no key.
    keyed.chargeMobileMoney(charge, { timeout: 5 });
    // @ts-expect-error The key is undefined.
    keyed.chargeMobileMoney(charge, { idempotencyKey: undefined });
    // @ts-expect-error The key can be missing.
    keyed.chargeMobileMoney(charge, wrapped);
    // @ts-expect-error The key can be undefined.
    keyed.initialize(payment, { idempotencyKey: undefined });
  });

  test('is one only if it surely has a journal', () => {
    const options: PaymentsClientOptions = {};
    const maybe: { journal: Journal | undefined } = { journal };
    expectTypeOf(new PaymentsClient({ ...options, journal })).toEqualTypeOf<PaymentsClient<Journal>>();
    expectTypeOf(new PaymentsClient()).toEqualTypeOf<PaymentsClient>();
    expectTypeOf(new PaymentsClient({ apiKey: anyText })).toEqualTypeOf<PaymentsClient>();
    expectTypeOf(new PaymentsClient(options)).toEqualTypeOf<PaymentsClient>();
    expectTypeOf(new PaymentsClient({ ...options })).toEqualTypeOf<PaymentsClient>();
    expectTypeOf(new PaymentsClient(maybe)).toEqualTypeOf<PaymentsClient>();
    // @ts-expect-error This is no journal.
    new PaymentsClient({ journal: {} });
  });

  test('is a PaymentsClient wherever one is taken', () => {
    class Shop {
      payments: PaymentsClient = new PaymentsClient({ journal });
      orders = createOrderPayments({ payments: keyed, journal, onPaid: () => {}, onAttention: () => {} });
      followUps = createFollowUps({ payments: keyed, journal, onFinal: () => {}, onAttention: () => {} });
    }
    expectTypeOf(new Shop().payments.chargeMobileMoney).toBeCallableWith(charge);
  });

  test('can be extended', () => {
    class Any extends PaymentsClient {
      override async chargeMobileMoney(input: ChargeMobileMoneyInput, options?: CreateOptions) {
        return await super.chargeMobileMoney(input, options);
      }
    }
    class Keyed extends PaymentsClient<Journal> {
      constructor() {
        super({ journal });
      }
    }
    class Generic<J extends Journal | undefined> extends PaymentsClient<J> {
      override async chargeMobileMoney(input: ChargeMobileMoneyInput, ...options: CreateArguments<J>) {
        return await super.chargeMobileMoney(input, ...options);
      }
    }
    expectTypeOf(new Any({ journal }).chargeMobileMoney).toBeCallableWith(charge);
    expectTypeOf<Any>().toExtend<PaymentsClient>();
    // @ts-expect-error There is no key.
    new Keyed().chargeMobileMoney(charge);
    expectTypeOf<Keyed>().toExtend<PaymentsClient>();
    // @ts-expect-error There is no key.
    new Generic({ journal }).chargeMobileMoney(charge);
    expectTypeOf(new Generic().chargeMobileMoney).toBeCallableWith(charge);
  });
});
