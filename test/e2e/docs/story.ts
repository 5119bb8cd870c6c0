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

export const refused = { kind: 'status', status: 422 } as const;
export const busy = { kind: 'rateLimited', retryAfter: 60_000 } as const;
export const lost = { kind: 'responseLost' } as const;

export const accepted: Story = { where: 'the charge is accepted', charges: 1 };
export const refusal: Story = {
  where: 'the service refuses the charge',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', refused),
  actions: ['showPaymentFailed order-17'],
  charges: 0,
};
export const inDoubt: Story = {
  where: 'the response to the charge is lost',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
  actions: ['holdForReview order-17 OutcomeUnknownError'],
  charges: 1,
};
export const rateLimited: Story = {
  where: 'the service is busy for a minute',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', busy),
  actions: ['retryLater order-17'],
  charges: 0,
};

export const approved: Story = {
  where: 'the customer approves',
  arrange: ({ mock, names }) => mock.settleAfter(names.reference, 20_000, 'success'),
  actions: ['fulfil order-17'],
};
export const declined: Story = {
  where: 'the customer declines',
  arrange: ({ mock, names }) => mock.settleAfter(names.reference, 20_000, 'failed'),
  actions: ['release order-17'],
};
export const silent: Story = {
  where: 'the customer does nothing',
  actions: ['checkLater order-17 TXN-000001'],
};

/** The same story of a process that runs until it is asked to end: it is, after the shop's first step or the first print. */
export function endsAfterStep({ arrange, ...story }: Story): Story {
  return {
    ...story,
    arrange(scene) {
      arrange?.(scene);
      const { names } = scene;
      const own = new Set(process.listeners('SIGTERM'));
      const end = () => {
        for (const listener of process.listeners('SIGTERM')) if (!own.has(listener)) listener('SIGTERM');
      };
      scene.onPrint = end;
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

/** The stories of blocks, by page and heading. */
export type Stories = Record<string, readonly Story[]>;
