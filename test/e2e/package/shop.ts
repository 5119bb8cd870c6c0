import { expect } from 'vitest';
import { loading, type ModuleSystem } from './loading.ts';
import { payingSandbox, program } from './project.ts';

const modules = {
  main: 'payment-collection-client',
  schedule: 'payment-collection-client/schedule',
  journals: 'payment-collection-client/journal',
};

const RUN = `
shop({ main, schedule, journals }, ...process.argv.slice(2)).then((seen) => console.log(JSON.stringify(seen)));
`;

/** Returns a shop as a program. Its arguments are the base URL and the key. */
export async function shopProgram(system: ModuleSystem, run = RUN): Promise<string> {
  return loading(system, modules) + (await program('shop.js')) + run;
}

/** Runs a shop on a new sandbox and checks its results. */
export async function expectShopRun(
  shop: (baseUrl: string, apiKey: string) => Promise<string>,
): Promise<void> {
  const sandbox = await payingSandbox();
  const seen: unknown = JSON.parse(await shop(sandbox.baseUrl, sandbox.liveKey));
  expect(seen).toEqual({
    checkout: true,
    charged: 'processing',
    again: true,
    polls: 2,
    paid: ['success', '25.50', true],
    missing: ['NotFoundError', 404, true, false, true],
    invalid: ['InvalidInputError', 'not_sent', false, true, true],
    schedule: [true, 9_000],
  });
  expect(sandbox.charges).toHaveLength(1);
}
