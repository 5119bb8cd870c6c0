import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { createOrderPayments, type OrderPayments } from 'payment-collection-client/orders';
import type { FinalStatus } from 'payment-collection-client/testing';
import { expect, vi } from 'vitest';
import type { Scene } from './scene.ts';

/** One run of a block: what the customer or the service does, and what must come of it. */
export interface Story {
  /** Continues the title "runs if". */
  readonly where: string;
  arrange?(scene: Scene): unknown;
  /** What happens once the block has run. */
  afterwards?(scene: Scene): void | Promise<void>;
  /** How often the block is run, one run after the other. @default 1 */
  readonly runs?: number;
  /** What must have been printed: matched as `toEqual` does. */
  readonly printed?: readonly unknown[];
  /** How many charges the service must have. */
  readonly charges?: number;
}

/** The default story of a block: it runs to its end. */
export const nothingHappens: Story = { where: 'all is well' };

/** Returns the story in which the service has so many charges, and these lines are printed. */
const ends = (story: Story, charges: number, ...printed: readonly unknown[]): Story => ({
  ...story,
  charges,
  printed,
});
/** The same without a look at the charges. */
const prints = (story: Story, ...printed: readonly unknown[]): Story => ({ ...story, printed });
const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** The same story of a process that runs until it is asked to end: it is, after each line that it prints. */
const endsAfterStep = ({ arrange, ...story }: Story): Story => ({
  ...story,
  async arrange(scene) {
    await arrange?.(scene);
    const own = new Set(process.listeners('SIGTERM'));
    scene.onPrint = () => {
      for (const listener of process.listeners('SIGTERM')) if (!own.has(listener)) listener('SIGTERM');
    };
  },
});

const accepted: Story = { where: 'the charge is accepted' };
const inTwoRuns: Story = { where: 'it is run twice' };
const settles = (where: string, delay: number, status: FinalStatus): Story => ({
  where,
  arrange: ({ mock }) => mock.settleAfter('next', delay, status),
});
const approves = settles('the customer approves', 20_000, 'success');
const declines = settles('the customer declines', 20_000, 'failed');
const paysAtOnce = settles('the customer pays at once', 0, 'success');

const answers = (where: string, fault: Parameters<Scene['mock']['fault']>[1]): Story => ({
  where,
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', fault),
});
const refuses = answers('the service refuses the charge', { kind: 'status', status: 422 });
const isBusy = answers('the service is busy for a minute', { kind: 'rateLimited', retryAfter: 60_000 });
const losesResponse = answers('the response to the charge is lost', { kind: 'responseLost' });

/** The payment of the scene, which is there before the block runs. */
const reads = (where: string, arrange: (mock: Scene['mock'], reference: string) => unknown): Story => ({
  where,
  arrange: ({ mock, reference }) => arrange(mock, reference),
});
const hasFailed = reads('the payment failed', (mock, reference) => mock.decline(reference));
const isPaidLater = reads('the customer approves', (mock, reference) =>
  mock.settleAfter(reference, 20_000, 'success'),
);
const isPaidWithLess = reads('the customer pays another amount', (mock, reference) => {
  mock.approve(reference);
  mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
});
const refusesKey = reads('the service rejects the key', (mock) =>
  mock.fault('verify', { kind: 'status', status: 401 }),
);
const isPending: Story = { where: 'the payment is pending' };

/** The shop of the guide to orders, in another process. */
async function useShop<T>(use: (orderPayments: OrderPayments) => Promise<T>): Promise<T> {
  using database = new DatabaseSync('payments.db');
  const journal = sqliteJournal(database);
  const payments = new PaymentsClient({ journal });
  try {
    return await use(createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} }));
  } finally {
    await payments.close();
  }
}

/** The same story, after the customer has pressed "Pay" for order 17. */
const isPressed = (story: Story): Story => ({
  ...story,
  async arrange(scene) {
    await story.arrange?.(scene);
    await useShop((orderPayments) => orderPayments.charge('17', scene.charge));
  },
});

/** The same story, after a charge under a key of the shop's own. */
const isCharged = (story: Story): Story => ({
  ...story,
  async arrange(scene) {
    await story.arrange?.(scene);
    using database = new DatabaseSync('payments.db');
    const payments = new PaymentsClient({ journal: sqliteJournal(database) });
    await payments.chargeMobileMoney(scene.charge, { idempotencyKey: 'order-17/1' }).catch(() => {});
    await payments.close();
  },
});

const ORDERS = 'docs/guides/orders.md';
const WAIT = 'docs/guides/wait.md';
const ON_PHONE = "'Approve the payment on your phone.'";
const UNDER_REVIEW = "'We are checking your payment. Do not pay again.'";
const NOT_STARTED = "'The payment did not start. Check the number, or try again later.'";
const CHARGED = like(/^'charged: TXN-\S+'$/);
const PROMPT = "processing A prompt has been sent to the customer's phone.";
const redirects = like(/^'redirect to https?:\S+\/checkout\/TXN-\S+'$/);
const says422 = expect.stringContaining('422');

/** By page and heading. Every step of the shop that a block shows has to be taken in one of its stories. */
export const stories: Readonly<Record<string, readonly Story[]>> = {
  'README.md, Quick start': [
    {
      ...ends(
        approves,
        1,
        "'order 17 is paid'",
        "'deliver order 17'",
        "'order 17 is paid'",
        "'order 17 is paid'",
      ),
      runs: 3,
    },
    ends(declines, 1, "'order 17 is unpaid'"),
    ends(refuses, 0, says422),
    ends(losesResponse, 1, "'order 17 is in_review'", "'ALERT: payment 17/1 is unresolved'"),
  ],
  'README.md, Quick start (2)': [
    ends(approves, 1, "'order 17 is success'"),
    ends(declines, 1, "'order 17 is failed'"),
  ],
  'AGENTS.md, For coding agents': [
    { ...ends(approves, 1, "'paid'", "'deliver order 17'", "'paid'", "'paid'"), runs: 3 },
    ends(declines, 1, "'not paid: the customer can pay again'"),
    ends(losesResponse, 1, "'hold the order for manual review'", "'ALERT: payment 17/1 is unresolved'"),
    {
      where: 'the service reports another amount',
      arrange({ mock }) {
        mock.settleAfter('next', 1_000, 'success');
        mock.fault('verify', { kind: 'wrongAmount', amount: '10.00' }, { times: 2 });
      },
      printed: ["'hold the order for manual review'", "'ALERT: payment 17/1 is mismatch'"],
      charges: 1,
    },
    ends({ where: 'the customer does nothing' }, 1, "'keep the order open, and check later'"),
    ends(refuses, 0, "'not started: correct'", says422),
  ],
  [`${ORDERS}, Charge an order`]: [
    ends(accepted, 1, ON_PHONE, ON_PHONE),
    ends(refuses, 1, '17 invalid_request correct', NOT_STARTED, ON_PHONE),
    ends(losesResponse, 1, UNDER_REVIEW, UNDER_REVIEW),
  ],
  [`${ORDERS}, Follow payments up`]: [
    ends(approves, 1, "'deliver order 17, if that is not done'"),
    ends(declines, 1, "'ask the customer to pay order 17 again'"),
    ends(losesResponse, 1, "'ALERT: order 17, payment 17/1: unresolved'"),
  ].map((story) => endsAfterStep(isPressed(story))),
  'docs/guides/charge.md, Send the customer to a page': [
    ends(settles('the customer pays', 1_000, 'success'), 0, redirects, "'Thank you.'"),
    prints({ where: 'the customer does not pay' }, redirects, "'The order is processing.'"),
    ends(
      {
        where: 'the service refuses the page',
        arrange: ({ mock }) => mock.fault('initialize', { kind: 'status', status: 422 }),
      },
      0,
      says422,
      "'The order is unpaid.'",
    ),
  ],
  'docs/guides/charge.md, Start a page without orders': [
    ends(paysAtOnce, 0, like(/^'store TXN-\S+, redirect to https?:\S+'$/), "'Thank you.'"),
    prints({ where: 'the customer has not paid' }, like(/^'store TXN-/), "'The payment is pending.'"),
  ],
  'docs/guides/charge.md, Charge a phone': [
    ends(approves, 1, PROMPT, "'paid'"),
    ends(declines, 1, PROMPT, "'not paid: failed'"),
  ],
  'docs/guides/charge.md, Normalise phone numbers': [{ ...inTwoRuns, charges: 1 }],
  [`${WAIT}, Wait for the final status`]: [
    prints(isPaidLater, "'Thank you.'"),
    prints(hasFailed, "'You have not paid. Try again.'"),
    prints(
      reads('the customer has abandoned the payment', (mock, reference) => mock.abandon(reference)),
      "'You have not paid. Try again.'",
    ),
    prints(isPending, "'We wait for your payment.'"),
    prints(isPaidWithLess, UNDER_REVIEW),
  ],
  'docs/guides/webhooks.md, Handle webhooks': [
    {
      ...isPressed({ where: 'a webhook names a payment that is not due' }),
      async afterwards() {
        const { checked } = await useShop((orderPayments) => orderPayments.sweep());
        expect(checked).toBe(1);
      },
    },
  ],
  'docs/guides/job-queues.md, Charge in a job': [
    ends(accepted, 1, CHARGED, CHARGED),
    ends(refuses, 1, "'refused: invalid_request'", CHARGED),
    ends(isBusy, 1, "'run again: rate_limited'", CHARGED),
    ends(losesResponse, 1, "'in review'", "'in review'"),
  ],
  // follow-ups-from-cron.test.ts also runs the files of the page as processes.
  'docs/guides/follow-ups.md, Follow payments without orders': [
    ends(approves, 1, "'deliver the order of order-17/1'"),
    ends(declines, 1, "'return its goods to stock: order-17/1'"),
    ends(losesResponse, 1, "'ALERT: order-17/1 is unresolved'"),
  ].map((story) => endsAfterStep(isCharged(story))),
  'docs/guides/prevent-double-charges.md, Charge at most once': [{ ...inTwoRuns, charges: 1 }],
  'docs/guides/prevent-double-charges.md, Resolve an unresolved idempotency key': [
    { ...losesResponse, charges: 1 },
  ],
  'docs/guides/migrate.md, Migrate to this package': [
    ends(approves, 1, "'paid'", "'deliver order 17'"),
    ends(declines, 1, "'unpaid'"),
    ends(losesResponse, 1, "'in_review'", "'ALERT: payment 17/1 is unresolved'"),
  ],
  'docs/guides/going-live.md, Make the first charge': [
    {
      ...accepted,
      charges: 1,
      printed: expect.arrayContaining([like(/^processing 1\/1 TXN-\w+ processing$/)]),
    },
    { ...losesResponse, charges: 1, printed: expect.arrayContaining([like(/^in_review 1\/1 undefined /)]) },
    { ...refuses, charges: 0, printed: expect.arrayContaining([says422]) },
  ],
  'docs/guides/rotate-api-key.md, Rotate the API key': [
    {
      where: 'the old API key is refused, and the secret manager then has the new one',
      arrange(scene) {
        vi.stubEnv('PAYMENTS_API_KEY', 'sk_live_old');
        scene.onPrint = () => void vi.stubEnv('PAYMENTS_API_KEY', scene.mock.apiKey);
      },
      printed: [like(/^'refused/), "'processing'"],
      charges: 1,
    },
  ],
  'docs/reference/errors.md, Handle errors': [
    ends(accepted, 1),
    ends(refuses, 0, like(/^invalid_request correct [\da-f-]{36}$/), "'order 17: ask for another number'"),
    ends(
      answers('the API key is wrong', { kind: 'status', status: 401 }),
      0,
      like(/^authentication_error correct [\da-f-]{36}$/),
      "'order 17: a developer reads the log'",
    ),
    ends(
      isBusy,
      0,
      like(/^rate_limited retry [\da-f-]{36}$/),
      "'order 17: charge again in a minute, under the same key'",
    ),
    {
      where: 'the key was used for another amount',
      async arrange({ charge }) {
        using database = new DatabaseSync('payments.db');
        const payments = new PaymentsClient({ journal: sqliteJournal(database) });
        const other = { ...charge, amount: '9.00' };
        await payments.chargeMobileMoney(other, { idempotencyKey: 'order-17/1' });
      },
      printed: [like(/^idempotency_conflict check /), "'order 17: an earlier charge decides'"],
      charges: 1,
    },
    ends(
      losesResponse,
      1,
      like(/^outcome_unknown review [\da-f-]{36}$/),
      "'order 17: a person looks for the charge'",
    ),
  ],
  'docs/reference/events.md, Events and log lines': [
    prints(
      { where: 'the service responds' },
      like(/^'payments: initialize, attempt 1: sending, request id [\da-f-]{36}'$/),
      like(/^'payments: initialize, attempt 1: response 200 after \d+ ms, request id /),
      "[ [ 'request', 1 ], [ 'response', 1 ] ]",
    ),
  ],
  'docs/troubleshooting.md, Troubleshooting': [
    prints(refusesKey, like(/^\{ code: 'authentication_error', operation: 'verify', .* retryable: false/s)),
  ],
};
