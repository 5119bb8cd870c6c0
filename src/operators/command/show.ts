import wrapAnsi from 'wrap-ansi';
import type { AttentionItem, Journal, JournalEntry } from '../../journal/journal.ts';
import { isSamePrice } from '../../ledger/payment.ts';
import type { Output, Screen } from '../../ui/screen.ts';
import { formatAge, formatTime, quoteForShell, toJsonLine } from '../../ui/text.ts';
import { readPayments } from '../read-payments.ts';
import { ADVICE, explainAttention, OFFERS, STATES } from '../words.ts';
import { type Arguments, takeKey } from './arguments.ts';
import type { Run } from './config.ts';
import { CommandError, describeCommand, limitJournal } from './errors.ts';

/** Prose is as wide as this, also in a wider terminal. */
const WIDTH = 80;

/** Shows everything that is recorded of a payment, or of each of an order, and what to do next. Keys and references are whole. */
export function prepareShow(args: Arguments): Run {
  const key = takeKey(args);
  const { config, json } = args.options;
  return async ({ journal }, screen) => {
    const { out, redact } = screen;
    const { entries } = await readEntries(journal, key);
    for (const [at, entry] of entries.entries()) {
      if (json) {
        await out.print(toJsonLine(entry, redact.recorded));
        continue;
      }
      await out.print(
        ...(at > 0 ? [''] : []),
        ...formatFacts(entry, screen, out),
        ...formatHistory(entry, screen),
        '',
        out.style('bold', 'What to do next'),
        ...describeNextSteps(entry, screen, config),
      );
    }
    return false;
  };
}

/** What has a name: one payment, or those of an order. There is at least one. */
export interface NamedEntries {
  readonly entries: readonly JournalEntry[];
  readonly isOrder: boolean;
}

/** @throws {CommandError} if the journal has no record of this name. */
export async function readEntries(journal: Journal, name: string): Promise<NamedEntries> {
  const entry = await limitJournal(() => journal.read(name));
  if (entry) return { entries: [entry], isOrder: false };
  // An id can itself begin so. A name that fits two orders was refused by then.
  for (const id of new Set([name, name.replace(/^order /, '')])) {
    const entries = await readPayments((key) => limitJournal(() => journal.read(key)), { kind: 'order', id });
    if (entries.length > 0) return { entries, isOrder: true };
  }
  throw new CommandError(
    `The journal has no record of the key or order "${name}".`,
    `A key is exact, also upper and lower case. ${describeCommand('list --state all')} shows the keys.`,
  );
}

/** Returns what is recorded of a key, but for its history, as lines for one of the outputs. */
export function formatFacts(entry: JournalEntry, { show }: Screen, { style }: Output): string[] {
  const { key, order, state, operation, amount, currency, other, price, network, createdAt, updatedAt } =
    entry;
  const { attempts, requestIds, reference = 'none recorded', service, status, attention } = entry;
  const stateText = show(`${state} (${STATES[state]})`);
  const facts: [label: string, values: readonly string[]][] = [
    ['Key', [style('bold', show(key))]],
    ['Order', order === undefined ? [] : [show(`${order}, payment ${key.slice(key.lastIndexOf('/') + 1)}`)]],
    ['Attention', attention ? [style('yellow', `${attention} (${explainAttention(attention, entry)})`)] : []],
    ['State', [stateText]],
    ['Status', status === undefined ? [] : [show(status)]],
    ['Amount', [show(`${amount} ${currency}`)]],
    ['At service', other ? [style('yellow', show(`${other.amount} ${other.currency}`))] : []],
    ['Last price', isSamePrice(entry, price) ? [] : [show(`${price.amount} ${price.currency}`)]],
    ['Operation', [operation]],
    ['Network', network === undefined ? [] : [show(network)]],
    ['Reference', [show(reference)]],
    ['Started', formatMoments(createdAt)],
    ['Last change', formatMoments(updatedAt)],
    ['Attempts', [String(attempts)]],
    ['Request ids', requestIds.length === 0 ? ['none recorded'] : requestIds.map(show)],
    ['Error', describeRecordedError(entry).map(show)],
    ['Last check', formatMoments(entry.checkedAt)],
    ['Next check', formatMoments(entry.nextCheckAt)],
    ['Service', [show(service)]],
  ];
  return facts.flatMap(([label, values]) =>
    values.map((value, at) => `${style('dim', (at === 0 ? label : '').padEnd(13))}${value}`),
  );
}

const formatMoments = (time: number | undefined) => (time === undefined ? [] : [formatMoment(time)]);

function formatMoment(time: number): string {
  return `${formatTime(time)} (${formatAge(time)})`;
}

function describeRecordedError({ state, error }: JournalEntry): string[] {
  if (error)
    return [`${error.code}, ${error.status === null ? 'no HTTP status' : `HTTP status ${error.status}`}`];
  return state === 'unknown' ? ['none recorded: its process might have ended before it had a response'] : [];
}

function formatHistory({ resolutions }: JournalEntry, { show, out }: Screen): string[] {
  if (resolutions.length === 0) return [];
  const lines = resolutions.flatMap(({ at, by, reason, resolution }) => [
    `  ${formatMoment(at)}`,
    `    ${out.style('dim', 'resolved as')}  ${show(typeof resolution === 'string' ? resolution.replace('_', ' ') : resolution.reference)}`,
    `    ${out.style('dim', 'by')}           ${show(by)}`,
    `    ${out.style('dim', 'reason')}       ${wrap(show(reason), 17).trimStart()}`,
  ]);
  return ['', out.style('bold', 'History'), ...lines];
}

/** What follows for the shop once no charge exists. No follow-up reports what a person resolved so. */
export const describeNotCharged = ({ order }: JournalEntry) =>
  order === undefined
    ? 'Nothing tells the shop of it. The next call under the key can charge.'
    : `The customer can pay the order ${order} again, unless another payment of it is under way or paid.`;

/** Returns what an operator does about a payment now, with the commands filled in. */
function describeNextSteps(entry: JournalEntry, screen: Screen, config: string | undefined): string[] {
  const { order, reference = '', status, nextCheckAt, resolutions, offers, state, attention } = entry;
  const isFinal = resolutions.length === 0 || offers.length === 0;
  const again = isFinal ? '' : ' If a resolution was wrong, resolve the key again.';
  const say = (text: string) => [wrap(text, 2)];
  if (attention) return describeAttention(entry, attention, screen, config);
  switch (state) {
    case 'unknown':
      return describeUnresolved(entry, screen, config);
    case 'begun':
      return say('Wait. A process holds the claim of the key now. Show the key again in a minute.');
    case 'closed':
      return say(
        `Nothing. It is never charged again.${offers.includes('reference') ? ' A reference that is found after all can replace it.' : ''}`,
      );
    case 'not_charged':
      return say(
        `${order === undefined ? 'Open the order of this key again in your shop.' : 'Nothing.'} ${screen.show(describeNotCharged(entry))}${again}`,
      );
    case 'completed':
      return say(
        order === undefined
          ? `Nothing. The same key again returns ${screen.show(reference)} and sends nothing.${again}`
          : `Nothing. ${screen.show(nextCheckAt === undefined ? `${reference} has ended: ${status}.` : `A sweep follows ${reference} until it has ended.`)}${again}`,
      );
    default:
      return say(
        `Nothing. ${order === undefined ? 'The next call under the key can charge.' : screen.show(describeNotCharged(entry))}${again}`,
      );
  }
}

function describeAttention(
  entry: JournalEntry,
  reason: AttentionItem['reason'],
  screen: Screen,
  config: string | undefined,
): string[] {
  if (reason === 'unresolved' || reason === 'shared_reference')
    return describeUnresolved(entry, screen, config);
  const { reference = '', offers } = entry;
  const why = explainAttention(reason, entry);
  return [
    ...step(1, `${screen.show(reference)}: ${why}. ${ADVICE[reason]}`),
    ...offers.flatMap((offer, index) => [
      ...step(index + 2, OFFERS[offer]),
      ...formatCommand(entry, [OPTION[offer]], screen, config),
    ]),
  ];
}

const OPTION: Readonly<Record<JournalEntry['offers'][number], string>> = {
  reference: '--reference TXN-…',
  not_charged: '--not-charged',
  accepted: '--accepted',
  closed: '--closed',
};

function describeUnresolved(entry: JournalEntry, screen: Screen, config: string | undefined): string[] {
  const { order, operation, amount, currency, network, createdAt, requestIds, error } = entry;
  const { show, redact } = screen;
  const isCharge = operation === 'chargeMobileMoney';
  const subject = isCharge ? 'charge' : 'payment';
  const ids = requestIds.slice(-1).map((id) => `request id ${id}`);
  const facts = [`${amount} ${currency}`, network ?? [], `about ${formatTime(createdAt)}`, ids]
    .flat()
    .join(', ');
  // Another payment has it, so it is not that of this one.
  const reference = entry.attention === 'shared_reference' ? undefined : entry.reference;
  const find =
    reference === undefined
      ? `Find the ${subject} in the records of the service: ${show(facts)}.`
      : `The service named ${show(reference)} for this key. Check that this is the ${subject}: ${show(facts)}.`;
  const found = [
    '--reference',
    reference === undefined ? 'TXN-…' : quoteForShell(redact.recorded(reference)),
  ];
  if (!isCharge) found.push('--checkout-url', '<url>');
  // Without an error and a reference, nothing shows that the process of the call has come to an end: it might be frozen.
  const confirm =
    error === undefined && reference === undefined
      ? ' Confirm that the process that sent the request has ended, and cannot send it later.'
      : '';
  return [
    ...step(1, find),
    ...step(2, `If the ${subject} exists, record its reference. The service is asked first:`),
    ...formatCommand(entry, found, screen, config),
    ...step(
      3,
      `If it does not exist, search again an hour later.${confirm} Only then resolve it as not charged. ${order === undefined ? `The next call under it can ${isCharge ? 'charge' : 'start a payment'}` : `The customer can then pay the order ${show(order)} again`}:`,
    ),
    ...formatCommand(entry, ['--not-charged'], screen, config),
    ...step(
      4,
      `If the service has lost it, or you pay it back, deal with it outside. Then close it. ${order === undefined ? 'It is never charged again:' : `The customer can then pay the order ${show(order)} again, by another payment:`}`,
    ),
    ...formatCommand(entry, ['--closed'], screen, config),
  ];
}

/** Who and why have to be typed: as they stand, no shell runs the command. What cannot be seen, the shell restores. */
function formatCommand(
  { key }: JournalEntry,
  resolution: readonly string[],
  { redact }: Screen,
  config: string | undefined,
): string[] {
  const quoted = quoteForShell(redact.recorded(key));
  const [first, last] = key.startsWith('-') ? [[], ` -- ${quoted}`] : [[quoted], ''];
  const command = describeCommand(['resolve', ...first, ...resolution].join(' '), config);
  return [`     ${command} \\`, `       --by <who> --reason <why>${last}`];
}

function step(number: number, text: string): string[] {
  return [`  ${number}. ${wrap(text, 5).trimStart()}`];
}

function wrap(text: string, indent: number): string {
  return wrapAnsi(text, WIDTH - indent).replace(/^/gm, ' '.repeat(indent));
}
