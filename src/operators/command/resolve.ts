import { isSameAmount } from '../../api/money.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import type { Resolution } from '../../journal/resolution.ts';
import type { Screen } from '../../ui/screen.ts';
import { quoteForShell, toJsonLine } from '../../ui/text.ts';
import { explainAttention } from '../words.ts';
import { type Arguments, takeKey, usageError } from './arguments.ts';
import type { Run } from './config.ts';
import { CommandError, describeCommand, limitTime } from './errors.ts';
import { describeNotCharged, formatFacts, type NamedEntries, readEntries } from './show.ts';

/** How long a resolution can take, in milliseconds: it reads and writes the journal, and asks the service with retries. */
const RESOLVE_TIMEOUT = 3 * 60_000;

/** Resolves a key as a person found it out. Without a charge the person confirms it by typing the amount. */
export function prepareResolve(args: Arguments): Run {
  const key = takeKey(args);
  const { by, reason, yes = false, json } = args.options;
  const resolution = parseResolution(args);
  if (!by?.trim()) throw usageError('resolve needs --by: who resolves the key.');
  if (!reason?.trim()) throw usageError('resolve needs --reason: what was found out.');
  return async ({ payments, journal }, screen) => {
    const { out, redact } = screen;
    const mustAsk = resolution === 'not_charged' && !yes;
    if (mustAsk && !screen.canAsk) {
      throw new CommandError(
        '--not-charged has to be confirmed, and there is no terminal to ask at. Nothing was changed.',
        `Read the entry with ${describeCommand('show')}, then add --yes.`,
      );
    }
    const seen = pickPayment(await readEntries(journal, key), resolution);
    if (mustAsk && seen) await confirmNotCharged(seen, screen);
    // What another person resolved meanwhile is not overruled by a decision that was made before.
    const note = { by, reason, revision: seen?.revision };
    const entry = await limitTime('The resolution', () => payments.resolve(key, resolution, note), {
      timeout: RESOLVE_TIMEOUT,
      advice: `It might have been recorded. Run ${describeCommand('show')} with this key.`,
    });
    const isNew = entry.resolutions.length > (seen?.resolutions.length ?? 0);
    await out.print(
      ...(json ? [toJsonLine(entry, redact.recorded)] : describeResolved(entry, isNew, screen)),
    );
    return false;
  };
}

/** @returns `undefined` for an order that a transaction is added to. @throws {CommandError} if it is an order otherwise. */
function pickPayment({ entries, isOrder }: NamedEntries, resolution: Resolution): JournalEntry | undefined {
  const [entry] = entries;
  if (!isOrder) return entry;
  if (typeof resolution !== 'string') return undefined;
  throw new CommandError(
    `This is an order: resolve one of its payments, such as ${entry?.key}. Nothing was changed.`,
  );
}

function parseResolution({ options }: Arguments): Resolution {
  const {
    reference,
    'checkout-url': checkout_url,
    'not-charged': isNotCharged,
    accepted,
    closed,
    yes,
  } = options;
  if ([reference !== undefined, isNotCharged, accepted, closed].filter(Boolean).length !== 1)
    throw usageError('resolve needs one of these: --reference TXN-…, --not-charged, --accepted or --closed.');
  if (yes && !isNotCharged) throw usageError('--yes confirms --not-charged. Nothing else needs it.');
  if (reference !== undefined) return { reference, checkout_url };
  if (checkout_url !== undefined) throw usageError('--checkout-url belongs to --reference.');
  if (accepted) return 'accepted';
  return isNotCharged ? 'not_charged' : 'closed';
}

async function confirmNotCharged(entry: JournalEntry, screen: Screen): Promise<void> {
  const { err, show } = screen;
  const { amount, currency, operation } = entry;
  const what = operation === 'chargeMobileMoney' ? 'charge' : 'payment';
  await err.print(
    ...formatFacts(entry, screen, err),
    '',
    err.style('yellow', `Do not go on if such a ${what} might exist: the customer could then pay twice.`),
  );
  const typed = await screen.ask(
    `To confirm that no ${what} exists, type its amount (${show(`${amount} ${currency}`)}): `,
  );
  if (/^[\d.]+$/.test(typed) && isSameAmount(typed, amount)) return;
  throw new CommandError(
    `${typed === '' ? 'No amount was typed' : 'That is not the amount'}. Nothing was changed.`,
  );
}

/** Says what was resolved, and what is left to do. An order needs nothing more: its payment is followed, and its handlers are called. */
function describeResolved(entry: JournalEntry, isNew: boolean, { show, out }: Screen): string[] {
  const { key, order, reference = '', amount, currency, other, resolutions, attention, state } = entry;
  if (!isNew) return [`${show(key)} is resolved so already. Nothing was changed.`];
  const done = `${out.style('green', 'Resolved:')} ${show(key)}`;
  const what = show(`${reference}, ${amount} ${currency}`);
  const isOfKey = order === undefined;
  if (state === 'not_charged')
    return [
      `${done} was not charged.${isOfKey ? ' Open its order again in your shop.' : ''}`,
      show(describeNotCharged(entry)),
    ];
  if (state === 'closed')
    return [
      `${done} is closed. It is never charged again, and not followed up.`,
      ...(isOfKey ? [] : [show(describeNotCharged(entry))]),
    ];
  if (resolutions.at(-1)?.resolution === 'accepted')
    return [
      `${done} is accepted as it is: ${other ? show(`${reference}, ${other.amount} ${other.currency} in place of ${amount} ${currency}`) : what}. It counts as paid.`,
      ...(isOfKey ? [] : [show(`It pays the order ${order}: the next sweep calls onPaid, which delivers.`)]),
    ];
  const found = `${done} is ${what}.`;
  if (attention)
    return [
      found,
      `It still needs a person: ${explainAttention(attention, entry)}. What to do: ${describeCommand('show')} ${quoteForShell(show(key))}`,
    ];
  return [
    found,
    isOfKey
      ? 'To learn whether it is paid, verify the reference, or let a follow-up do it.'
      : show(`The next sweep follows it. Once it is paid, it pays the order ${order}.`),
  ];
}
