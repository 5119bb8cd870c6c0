import wrapAnsi from 'wrap-ansi';
import type { Journal, JournalEntry } from '../journal/journal.ts';
import { type Arguments, takeKey } from './arguments.ts';
import type { Run } from './config.ts';
import { MEANINGS } from './count.ts';
import { CommandError, describeCommand, limitJournal } from './errors.ts';
import type { Output, Screen } from './screen.ts';
import { formatAge, formatTime, quoteForShell, toJsonLine } from './text.ts';

/** Prose is as wide as this, also in a wider terminal. */
const WIDTH = 80;

/** Shows everything that is recorded of a key, and what to do next. Keys and references are whole. */
export function prepareShow(args: Arguments): Run {
  const key = takeKey(args);
  const { config, json } = args.options;
  return async ({ journal }, screen) => {
    const { out, redact } = screen;
    const entry = await readEntry(journal, key);
    if (json) await out.print(toJsonLine(entry, redact.recorded));
    else
      await out.print(
        ...formatFacts(entry, screen, out),
        ...formatHistory(entry, screen),
        '',
        out.style('bold', 'What to do next'),
        ...describeNextSteps(entry, screen, config),
      );
    return false;
  };
}

/** @throws {CommandError} if the journal has no record of the key. */
export async function readEntry(journal: Journal, key: string): Promise<JournalEntry> {
  const entry = await limitJournal(() => journal.read(key));
  if (entry) return entry;
  throw new CommandError(
    `The journal has no record of the key "${key}".`,
    `A key is exact, also upper and lower case. ${describeCommand('list --state all')} shows the keys.`,
  );
}

/** Returns what is recorded of a key, but for its history, as lines for one of the outputs. */
export function formatFacts(entry: JournalEntry, { show }: Screen, { style }: Output): string[] {
  const { key, state, operation, amount, currency, network, createdAt, updatedAt, attempts } = entry;
  const { requestIds, reference = 'none recorded', service } = entry;
  const stateText = show(`${state} (${MEANINGS[state]})`);
  const facts: [label: string, values: readonly string[]][] = [
    ['Key', [style('bold', show(key))]],
    ['State', [state === 'unknown' ? style('yellow', stateText) : stateText]],
    ['Amount', [show(`${amount} ${currency}`)]],
    ['Operation', [operation]],
    ['Network', network === undefined ? [] : [show(network)]],
    ['Reference', [show(reference)]],
    ['Started', [formatMoment(createdAt)]],
    ['Last change', [formatMoment(updatedAt)]],
    ['Attempts', [String(attempts)]],
    ['Request ids', requestIds.length === 0 ? ['none recorded'] : requestIds.map(show)],
    ['Error', describeRecordedError(entry).map(show)],
    ['Follow-up', describeFollowUp(entry).map(show)],
    ['Service', [show(service)]],
  ];
  return facts.flatMap(([label, values]) =>
    values.map((value, at) => `${style('dim', (at === 0 ? label : '').padEnd(13))}${value}`),
  );
}

function formatMoment(time: number): string {
  return `${formatTime(time)} (${formatAge(time)})`;
}

function describeRecordedError({ state, error }: JournalEntry): string[] {
  if (error)
    return [`${error.code}, ${error.status === null ? 'no HTTP status' : `HTTP status ${error.status}`}`];
  return state === 'unknown' ? ['none recorded: its process might have ended before it had a response'] : [];
}

/** Every field has a line, also one of a later version. */
function describeFollowUp({ followUp }: JournalEntry): string[] {
  return Object.entries(followUp ?? {}).map(([name, value]) => {
    const isTime = typeof value === 'number' && /(?:At|Since)$/.test(name);
    return `${name}: ${isTime ? formatMoment(value) : JSON.stringify(value)}`;
  });
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

/** No follow-up reports what a person resolved as not charged. */
export const AFTER_NOT_CHARGED = 'Nothing tells the shop of it. The next call under the key can charge.';

/** What can be wrong with a payment that the service knows. Closing its key is the only end. */
const CLOSED_BY_PERSON = ['mismatch', 'gone', 'price_changed', 'paid_twice'];

/** Returns what an operator does about a key now, with the commands filled in. */
function describeNextSteps(entry: JournalEntry, screen: Screen, config: string | undefined): string[] {
  const { reference = '', resolutions, followUp } = entry;
  const state: string = entry.state;
  const again = resolutions.length === 0 ? '' : ' If a resolution was wrong, resolve the key again.';
  const say = (text: string) => [wrap(text, 2)];
  if (state === 'unknown') return describeUnresolved(entry, screen, config);
  if (state === 'begun')
    return say('Wait. A process holds the claim of the key now. Show the key again in a minute.');
  if (state === 'closed')
    return say(
      `Nothing. The key is never charged again. A reference that is found after all can replace it.`,
    );
  if (state === 'not_charged')
    return say(`Open the order of this key again in your shop. ${AFTER_NOT_CHARGED}${again}`);
  if (state !== 'completed') return say(`Nothing. The next call under the key can charge.${again}`);
  const reasons = followUp?.reported.filter((reason) => CLOSED_BY_PERSON.includes(reason)) ?? [];
  if (reasons.length === 0)
    return say(`Nothing. The same key again returns ${screen.show(reference)} and sends nothing.${again}`);
  return [
    ...step(
      1,
      `Reported: ${screen.show(reasons.join(', '))}. Deal with ${screen.show(reference)} at the service: pay it back, or accept it.`,
    ),
    ...step(2, 'Then close the key. It is never charged again:'),
    ...formatCommand(entry, ['--closed'], screen, config),
  ];
}

function describeUnresolved(entry: JournalEntry, screen: Screen, config: string | undefined): string[] {
  const { operation, amount, currency, network, createdAt, reference, requestIds, error } = entry;
  const { show, redact } = screen;
  const isCharge = operation === 'chargeMobileMoney';
  const subject = isCharge ? 'charge' : 'payment';
  const ids = requestIds.slice(-1).map((id) => `request id ${id}`);
  const facts = [`${amount} ${currency}`, network ?? [], `about ${formatTime(createdAt)}`, ids]
    .flat()
    .join(', ');
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
      `If it does not exist, search again an hour later.${confirm} Only then resolve the key as not charged. The next call under it can ${isCharge ? 'charge' : 'start a payment'}:`,
    ),
    ...formatCommand(entry, ['--not-charged'], screen, config),
    ...step(
      4,
      'If it has another amount, or the service has lost it, deal with it outside: pay it back, or accept it. Then close the key. It is never charged again:',
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

/** Breaks prose into lines, and indents each. */
function wrap(text: string, indent: number): string {
  return wrapAnsi(text, WIDTH - indent).replace(/^/gm, ' '.repeat(indent));
}
