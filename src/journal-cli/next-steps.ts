import type { JournalEntry } from '../journal/journal.ts';
import type { CommonOptions } from './arguments.ts';
import { COMMAND, nameConfig } from './command-line.ts';
import { quoteForShell, wrapText } from './printable-text.ts';
import type { Screen } from './screen.ts';
import { formatTime } from './time.ts';

const WIDTH = 80;

/** No follow-up reports what a person resolved as not charged. */
export const AFTER_NOT_CHARGED = 'Nothing tells the shop of it. The next call under the key can charge.';

/** Returns what an operator does about a key now, with the commands filled in. */
export function describeNextSteps(entry: JournalEntry, options: CommonOptions, screen: Screen): string[] {
  const { state, reference, resolutions } = entry;
  const again = resolutions.length === 0 ? '' : ' If a resolution was wrong, resolve the key again.';
  switch (state) {
    case 'unknown':
      return describeUnresolved(entry, options, screen);
    case 'begun':
      return wrap('  Wait. A process holds the claim of the key now. Show the key again in a minute.');
    case 'completed':
      return wrap(
        `  Nothing. The same key again returns ${screen.show(reference ?? '')} and sends nothing.${again}`,
      );
    case 'not_charged':
      return wrap(`  Open the order of this key again in your shop. ${AFTER_NOT_CHARGED}${again}`);
    case 'not_sent':
    case 'rejected':
      return wrap(`  Nothing. The next call under the key can charge.${again}`);
  }
}

function describeUnresolved(entry: JournalEntry, options: CommonOptions, screen: Screen): string[] {
  const { operation, amount, currency, network, createdAt, reference, requestIds, error } = entry;
  const { show } = screen;
  const isCharge = operation === 'chargeMobileMoney';
  const subject = isCharge ? 'charge' : 'payment';
  const facts = [
    `${amount} ${currency}`,
    ...(network === undefined ? [] : [network]),
    `about ${formatTime(createdAt)}`,
    ...requestIds.slice(-1).map((id) => `request id ${id}`),
  ];
  const find =
    reference === undefined
      ? `Find the ${subject} in the records of the service: ${show(facts.join(', '))}.`
      : `The service named ${show(reference)} for this key. Check that this is the ${subject}: ${show(facts.join(', '))}.`;
  const found = ['--reference', reference === undefined ? 'TXN-…' : quoteRecorded(reference, screen)];
  if (!isCharge) found.push('--checkout-url', '<url>');
  // Without an error and a reference, nothing shows that the process of the call has come to an end: it might be frozen.
  const confirm =
    error === undefined && reference === undefined
      ? ' Confirm that the process that sent the request has ended, and cannot send it later.'
      : '';
  return [
    ...step(1, find),
    ...step(2, `If the ${subject} exists, record its reference. The service is asked first:`),
    ...formatCommand(entry, found, options, screen),
    ...step(
      3,
      `If it does not exist, search again an hour later.${confirm} Only then resolve the key as not charged. The next call under it can ${isCharge ? 'charge' : 'start a payment'}:`,
    ),
    ...formatCommand(entry, ['--not-charged'], options, screen),
  ];
}

/** Who and why have to be typed: as they stand, no shell runs the command. */
function formatCommand(
  { key }: JournalEntry,
  resolution: readonly string[],
  { config }: CommonOptions,
  screen: Screen,
): string[] {
  const quoted = quoteRecorded(key, screen);
  const [first, last] = key.startsWith('-') ? [[], ['--', quoted]] : [[quoted], []];
  const words = [COMMAND, 'resolve', ...first, ...resolution, ...nameConfig(config)];
  return [`     ${words.join(' ')} \\`, `       ${['--by <who> --reason <why>', ...last].join(' ')}`];
}

/** What cannot be seen is escaped so that the shell restores it. */
function quoteRecorded(text: string, { redact }: Screen): string {
  return quoteForShell(redact.recorded(text));
}

function step(number: number, text: string): string[] {
  const [first = '', ...rest] = wrapText(text, WIDTH, '     ');
  return [`  ${number}. ${first.trimStart()}`, ...rest];
}

function wrap(text: string): string[] {
  return wrapText(text.trim(), WIDTH, '  ');
}
