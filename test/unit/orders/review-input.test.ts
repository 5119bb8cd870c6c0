/** What a person gets wrong is refused with what to do, by each way to resolve, and nothing changes. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Resolution, ResolveOptions } from '../../../src/index.ts';
import { fakeClocks } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { openReviewed } from '../../helpers/order-reasons.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { runCommand } from '../operators/command/run-command.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Opens an order of a payment with another amount, does something wrong, and returns what did not change, and what is said. */
async function attempt(run: (orders: Awaited<ReturnType<typeof openReviewed>>['orders']) => Promise<string>) {
  const { shop, orders } = await openReviewed('mismatch');
  const before = await shop.store.read('order 17');
  const asked = shop.requests.length;
  const said = await run(orders);
  const { record } = await shop.store.read('order 17');
  expect(record).toEqual(before.record);
  expect(shop.requests).toHaveLength(asked);
  return said;
}

const WORDS =
  'is no resolution. Give { reference }, "not_charged", "accepted" or "closed". Nothing was changed.';
const UNKNOWN = 'The journal has no record of the key or order';

/** As a caller without types gives them. */
const wrong: [key: string, resolution: unknown, options: unknown, told: string][] = [
  ['17/1', 'paid_back', note, `ConfigurationError: "paid_back" ${WORDS}`],
  ['17/1', 'Closed', note, `ConfigurationError: "Closed" ${WORDS}`],
  ['17/1', true, note, `ConfigurationError: This boolean ${WORDS}`],
  ['17/1', {}, note, `ConfigurationError: This object ${WORDS}`],
  [
    '17/1',
    { reference: ' ' },
    note,
    'ConfigurationError: reference must be that of a transaction, such as TXN-8F2K1.',
  ],
  [
    '17/1',
    'closed',
    { ...note, by: '  ' },
    'by must be text of 1 to 200 characters in one line: who decides.',
  ],
  [
    '17/1',
    'closed',
    { ...note, reason: '\t' },
    'reason must be text of 1 to 1000 characters in one line: what was found',
  ],
  ['17/1', 'closed', { by: 'kofi' }, 'ConfigurationError: A resolution needs { by, reason }.'],
  ['17/1', 'closed', null, 'ConfigurationError: A resolution needs { by, reason }'],
  [
    '17/1',
    'closed',
    { ...note, revision: 5 },
    'ConfigurationError: revision must be the revision of the entry',
  ],
  [
    '17/1',
    'closed',
    { ...note, revision: 'old' },
    'JournalError: This payment was changed meanwhile by a check, a press or',
  ],
  ['99', 'closed', note, `JournalError: ${UNKNOWN} "99". Nothing was changed.`],
  ['99', { reference: 'TXN-000001' }, note, `JournalError: ${UNKNOWN} "99". Nothing was changed.`],
  ['17/9', 'closed', note, `JournalError: ${UNKNOWN} "17/9". Nothing was changed.`],
  ['17', 'closed', note, 'JournalError: This is an order: name one of its payments, such as "17/1". Nothing'],
];

describe.each(['payments', 'journal'] as const)('%s.resolve', (door) => {
  test.each(wrong)('refuses %s, %o, %o', async (key, resolution, options, told) => {
    const [given, how]: [Resolution, ResolveOptions] = JSON.parse(JSON.stringify([resolution, options]));
    const said = await attempt(async (orders) => {
      const resolved: Promise<unknown> = orders[door].resolve(key, given, how);
      return String(await catchError(finish(resolved)));
    });
    expect(said).toContain(told);
  });
});

const by = ['--by', 'kofi', '--reason', 'paid back'];

test.each<[args: string[], told: string]>([
  [['show', '99'], `${UNKNOWN} "99".`],
  [['show', '17/9'], `${UNKNOWN} "17/9".`],
  [['resolve', '99', '--closed', ...by], `${UNKNOWN} "99".`],
  [['resolve', '99', '--reference', 'TXN-000001', ...by], `${UNKNOWN} "99".`],
  [
    ['resolve', '17', '--closed', ...by],
    'This is an order: resolve one of its payments, such as 17/1. Nothing was changed.',
  ],
  [['resolve', '17/1', '--paid-back', ...by], "Unknown option '--paid-back'"],
  [
    ['resolve', '17/1', ...by],
    'resolve needs one of these: --reference TXN-…, --not-charged, --accepted or --closed.',
  ],
  [
    ['resolve', '17/1', '--not-charged', '--yes', ...by],
    '"not_charged" does not fit this payment. Nothing was changed. It can be accepted or closed.',
  ],
  [
    ['resolve', '17/1', '--reference', '8F2K1', ...by],
    'reference must be that of a transaction, such as TXN-8F2K1. Nothing was changed.',
  ],
  [['resolve', '17/1', '--closed', '--by', ' ', '--reason', 'x'], 'resolve needs --by'],
  [['resolve', '17/1', '--closed', '--by', 'kofi', '--reason', ''], 'resolve needs --reason'],
])('the command refuses %j', async (args, told) => {
  const said = await attempt(async ({ payments, journal }) => {
    // It imports its config, which takes a time of its own.
    vi.useRealTimers();
    const { code, out, err } = await runCommand(args, { exports: { payments, journal } });
    expect([code, out]).toEqual([1, '']);
    return err;
  });
  expect(said).toContain(told);
});
