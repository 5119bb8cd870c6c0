import type { Scene } from './prelude.ts';

/** One run of a block: what the customer or the service does, and what must come of it. */
export interface Story {
  /** Continues the title "runs if". */
  readonly where: string;
  arrange?(scene: Scene): unknown;
  /** What happens once the block has run. */
  afterwards?(scene: Scene): void | Promise<void>;
  /** What the shop must have responded on its routes, such as `respond 204`. */
  readonly actions?: readonly string[];
  /** How often the block is run, one run after the other. @default 1 */
  readonly runs?: number;
  /** What must have been printed: matched as `toEqual` does. */
  readonly printed?: readonly unknown[];
  /** How many charges the service must have. */
  readonly charges?: number;
}

/** The default story of a block: it runs to its end. */
export const nothingHappens: Story = { where: 'all is well' };

export const refused = { kind: 'status', status: 422 } as const;
export const busy = { kind: 'rateLimited', retryAfter: 60_000 } as const;
export const lost = { kind: 'responseLost' } as const;

export const approves: Story = {
  where: 'the customer approves',
  arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'success'),
};
export const declines: Story = {
  where: 'the customer declines',
  arrange: ({ mock }) => mock.settleAfter('next', 20_000, 'failed'),
};
export const refuses: Story = {
  where: 'the service refuses the charge',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', refused),
};
export const losesResponse: Story = {
  where: 'the response to the charge is lost',
  arrange: ({ mock }) => mock.fault('chargeMobileMoney', lost),
};
export const accepted: Story = { where: 'the charge is accepted', charges: 1 };

/** The same story of a process that runs until it is asked to end: it is, after each line that it prints. */
export function endsAfterStep({ arrange, ...story }: Story): Story {
  return {
    ...story,
    async arrange(scene) {
      await arrange?.(scene);
      const own = new Set(process.listeners('SIGTERM'));
      const end = () => {
        for (const listener of process.listeners('SIGTERM')) if (!own.has(listener)) listener('SIGTERM');
      };
      scene.onPrint = end;
    },
  };
}

/** The stories of blocks, by page and heading. */
export type Stories = Record<string, readonly Story[]>;
