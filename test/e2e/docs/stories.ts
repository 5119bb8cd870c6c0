import { expect, vi } from 'vitest';
import type { Scene } from './prelude.ts';

/** One run of a block: what the customer or the service does, and what must come of it. */
export interface Story {
  /** Continues the title "runs if". */
  readonly where: string;
  arrange?(scene: Scene): void;
  /** What happens once the block has run. */
  afterwards?(scene: Scene): void | Promise<void>;
  /** The exact actions that the shop must have taken. */
  readonly actions?: readonly string[];
  /** What must have been printed: matched as `toEqual` does. */
  readonly printed?: readonly unknown[];
  /** How many charges the service must have. */
  readonly charges?: number;
}

/** The default story of a block: it runs to its end, and takes no action of the shop. */
export const nothingHappens: Story = { where: 'all is well' };

const refused = { kind: 'status', status: 422 } as const;
const busy = { kind: 'rateLimited', retryAfter: 60_000 } as const;
const lost = { kind: 'responseLost' } as const;

const accepted: Story = { where: 'the charge is accepted', charges: 1 };
const refusal: Story = {
  where: 'the service refuses the charge',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', refused),
  actions: ['showPaymentFailed order-17'],
  charges: 0,
};
const inDoubt: Story = {
  where: 'the response to the charge is lost',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
  actions: ['holdForReview order-17 OutcomeUnknownError'],
  charges: 1,
};
const rateLimited: Story = {
  where: 'the service is busy for a minute',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', busy),
  actions: ['retryLater order-17'],
  charges: 0,
};

const approved: Story = {
  where: 'the customer approves',
  arrange: ({ mock, names }) => mock.settleAfter(names.reference, 20_000, 'success'),
  actions: ['fulfil order-17'],
};
const declined: Story = {
  where: 'the customer declines',
  arrange: ({ mock, names }) => mock.settleAfter(names.reference, 20_000, 'failed'),
  actions: ['release order-17'],
};
const silent: Story = {
  where: 'the customer does nothing',
  actions: ['checkLater order-17 TXN-000001'],
};

/** The same story of a process that runs until it is asked to end: it is, after the shop's first step. */
function endsAfterStep({ arrange, ...story }: Story): Story {
  return {
    ...story,
    arrange(scene) {
      arrange?.(scene);
      const { names } = scene;
      const own = new Set(process.listeners('SIGTERM'));
      const end = () => {
        for (const listener of process.listeners('SIGTERM')) if (!own.has(listener)) listener('SIGTERM');
      };
      const endAfter =
        <Args extends unknown[]>(step: (...args: Args) => Promise<void>) =>
        (...args: Args) =>
          step(...args).then(end);
      names.fulfil = endAfter(names.fulfil);
      names.release = endAfter(names.release);
      names.holdForReview = endAfter(names.holdForReview);
    },
  };
}

/** By page and heading. Every step of the shop that a block shows has to be taken in one of its stories. */
export const stories: Record<string, readonly Story[]> = {
  'README.md, Charge a customer': [
    {
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      printed: [expect.stringMatching(/^'paid at \d{4}-.*'$/)],
      charges: 1,
    },
    {
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      printed: ["'not paid: failed'"],
      charges: 1,
    },
  ],
  'README.md, Handle errors': [accepted, refusal, inDoubt],
  'README.md, Wait for the final status': [approved, declined, silent],
  'README.md, Charge at most once': [accepted],
  'docs/follow-ups.md, Sweep from cron': [{ ...accepted, printed: ['0 0 0'] }],
  'docs/follow-ups.md, Run in a process': [
    endsAfterStep({
      where: 'the customer approves',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
      actions: ['fulfil order-17'],
      charges: 1,
    }),
    endsAfterStep({
      where: 'the customer declines',
      arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
      actions: ['release order-17'],
      charges: 1,
    }),
    endsAfterStep({
      ...inDoubt,
      actions: ['holdForReview order-17 Error'],
      printed: ["'unknown'"],
    }),
  ],
  'docs/follow-ups.md, Take the webhook': [
    {
      where: 'a webhook comes in',
      arrange: ({ names }) => void vi.spyOn(names.followUps, 'notify'),
      async afterwards({ names, post, actions }) {
        post('/webhooks/payments', { data: { reference: names.reference } });
        expect(names.followUps.notify).toHaveBeenCalledExactlyOnceWith(names.reference);
        await vi.waitFor(() => expect(actions).toHaveLength(1));
      },
      actions: ['respond 204'],
    },
    {
      where: 'a webhook comes in that says nothing',
      async afterwards({ post, actions }) {
        post('/webhooks/payments', {});
        await vi.waitFor(() => expect(actions).toHaveLength(1));
      },
      actions: ['respond 204'],
    },
  ],
  'docs/order-workflows.md, Charge at most once': [{ ...accepted, where: 'the key is used twice' }],
  'docs/order-workflows.md, Normalise phone numbers': [
    { ...accepted, where: 'the phone is typed in two ways' },
  ],
  'docs/order-workflows.md, Resolve an unknown key': [
    {
      where: 'the response to the charge is lost',
      arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
      charges: 1,
    },
  ],
  'docs/order-workflows.md, Wait on an engine': [
    { where: 'the payment is pending', printed: [expect.stringMatching(/^\{ delay: \d+ \}$/)] },
    {
      where: 'the customer has approved',
      arrange: ({ mock, names }) => mock.approve(names.reference),
      printed: [expect.stringContaining("status: 'success'")],
    },
    {
      where: 'the service is down',
      arrange: ({ mock }) => mock.fault('verify', { kind: 'status', status: 503 }),
      printed: ['{ delay: 5000 }'],
    },
  ],
  'docs/outcomes.md, Handle errors': [
    accepted,
    refusal,
    rateLimited,
    { ...inDoubt, printed: [expect.stringMatching(/^outcome unknown undefined ConnectionError/)] },
  ],
  'docs/waiting.md, Wait for the final status': [{ ...approved, actions: [], printed: ["'success'"] }],
  'docs/waiting.md, Choose a deadline, and handle its end': [approved, declined, silent],
  'docs/waiting.md, Continue after a restart': [
    {
      where: 'the customer has approved',
      arrange: ({ mock, names }) => mock.approve(names.reference),
      actions: ['fulfil order-17'],
    },
    {
      where: 'the service refuses to say',
      arrange: ({ mock }) => mock.fault('verify', { kind: 'status', status: 401 }),
      printed: [
        expect.stringMatching(/^TXN-000001: the check failed, the order stays open AuthenticationError/),
      ],
    },
    {
      where: 'the customer has paid another amount',
      arrange({ mock, names }) {
        mock.approve(names.reference);
        mock.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
      },
      actions: ['holdForReview order-17 TransactionMismatchError'],
    },
  ],
  'docs/waiting.md, Handle webhooks': [
    {
      where: 'a webhook comes in',
      arrange: ({ names }) => void vi.spyOn(names.payments, 'notify'),
      afterwards({ names, post }) {
        post('/webhooks/payments', { data: { reference: names.reference } });
        expect(names.payments.notify).toHaveBeenCalledExactlyOnceWith(names.reference);
      },
      actions: ['respond 204'],
    },
    {
      where: 'a webhook comes in that says nothing',
      afterwards: ({ post }) => post('/webhooks/payments', {}),
      actions: ['respond 204'],
    },
  ],
};
