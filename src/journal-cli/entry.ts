import type { JournalEntry } from '../journal/journal.ts';
import type { CommonOptions } from './arguments.ts';
import { MEANINGS } from './count.ts';
import { describeNextSteps } from './next-steps.ts';
import { padTo, wrapText } from './printable-text.ts';
import type { Screen } from './screen.ts';
import { formatAge, formatTime } from './time.ts';

/** Prose is as wide as this, also in a wider terminal. */
const WIDTH = 80;
const LABEL_WIDTH = 13;

/** Returns everything that is recorded of a key as lines, and what to do next. Keys and references are whole. */
export function formatEntry(entry: JournalEntry, options: CommonOptions, screen: Screen): string[] {
  const { bold } = screen.style;
  return [
    ...formatFacts(entry, screen),
    ...formatHistory(entry, screen),
    '',
    bold('What to do next'),
    ...describeNextSteps(entry, options, screen),
  ];
}

/** Returns what is recorded of a key, but for its history. */
export function formatFacts(entry: JournalEntry, { show, style }: Pick<Screen, 'show' | 'style'>): string[] {
  const { key, state, operation, amount, currency, network, createdAt, updatedAt, attempts } = entry;
  const { requestIds, reference, service } = entry;
  const stateText = `${state} (${MEANINGS[state]})`;
  const facts: [label: string, values: readonly string[]][] = [
    ['Key', [style.bold(show(key))]],
    ['State', [state === 'unknown' ? style.yellow(stateText) : stateText]],
    ['Amount', [show(`${amount} ${currency}`)]],
    ['Operation', [operation]],
    ['Network', network === undefined ? [] : [show(network)]],
    ['Reference', [reference === undefined ? 'none recorded' : show(reference)]],
    ['Started', [formatMoment(createdAt)]],
    ['Last change', [formatMoment(updatedAt)]],
    ['Attempts', [String(attempts)]],
    ['Request ids', requestIds.length === 0 ? ['none recorded'] : requestIds.map(show)],
    ['Error', describeError(entry, show)],
    ['Follow-up', describeFollowUp(entry, show)],
    ['Service', [show(service)]],
  ];
  return facts.flatMap(([label, values]) =>
    values.map((value, at) => `${style.dim(padTo(at === 0 ? label : '', LABEL_WIDTH))}${value}`),
  );
}

function formatMoment(time: number): string {
  return `${formatTime(time)} (${formatAge(time, Date.now())})`;
}

function describeError({ state, error }: JournalEntry, show: Screen['show']): string[] {
  if (error === undefined) {
    return state === 'unknown'
      ? ['none recorded: its process might have ended before it had a response']
      : [];
  }
  return [`${show(error.code)}, ${error.status === null ? 'no HTTP status' : `HTTP status ${error.status}`}`];
}

function describeFollowUp({ followUp }: JournalEntry, show: Screen['show']): string[] {
  if (!followUp) return [];
  const { checks, checkedAt, slowChecks, notFoundSince, reported, final, failures, ended, ...others } =
    followUp;
  const facts = [
    `${checks} ${checks === 1 ? 'check' : 'checks'}`,
    checkedAt === undefined ? '' : `last check ${formatMoment(checkedAt)}`,
    slowChecks === undefined ? '' : `${slowChecks} of the latest at slow pauses`,
    notFoundSince === undefined ? '' : `not found since ${formatMoment(notFoundSince)}`,
    reported.length === 0 ? '' : `reported: ${reported.join(', ')}`,
    final ? `final status ${final.status}${final.paid_at === null ? '' : `, paid at ${final.paid_at}`}` : '',
    failures === undefined ? '' : `${failures} failed calls of onFinal or onAttention in a row`,
    ended === undefined ? '' : `ended: ${ended}`,
    ...Object.entries(others).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
  ];
  return facts.filter(Boolean).map(show);
}

function formatHistory({ resolutions }: JournalEntry, { show, style }: Screen): string[] {
  if (resolutions.length === 0) return [];
  const lines = resolutions.flatMap(({ at, by, reason, resolution }) => [
    `  ${formatMoment(at)}`,
    `    ${style.dim('resolved as')}  ${resolution === 'not_charged' ? 'not charged' : show(resolution.reference)}`,
    `    ${style.dim('by')}           ${show(by)}`,
    `    ${style.dim('reason')}       ${wrapText(show(reason), WIDTH, ' '.repeat(17)).join('\n').trimStart()}`,
  ]);
  return ['', style.bold('History'), ...lines];
}
