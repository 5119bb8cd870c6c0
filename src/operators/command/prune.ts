import { formatTime, toJsonLine } from '../../ui/text.ts';
import { type Arguments, refuseKeys, usageError } from './arguments.ts';
import type { Run } from './config.ts';
import { CommandError, limitTime } from './errors.ts';

/** How long the deletion can take, in milliseconds. */
const PRUNE_TIMEOUT = 30 * 60_000;

/** Deletes old records that have nothing left to do. A person confirms it by typing the date. */
export function preparePrune(args: Arguments): Run {
  refuseKeys(args);
  const { before: given = '', unfollowed = false, yes = false, json } = args.options;
  const before = parseDay(given);
  return async ({ journal }, { out, err, canAsk, ask }) => {
    if (!yes && !canAsk) {
      throw new CommandError(
        'prune has to be confirmed, and there is no terminal to ask at. Nothing was deleted.',
        'Add --yes.',
      );
    }
    const which = `${unfollowed ? 'records' : 'followed-up records'} that were created before ${formatTime(before)}`;
    if (!yes) {
      await err.print(
        err.style('yellow', 'The keys of deleted records count as new: a call under one of them charges.'),
      );
      const typed = await ask(`To delete the ${which}, type the date (${given}): `);
      if (typed !== given) throw new CommandError('That is not the date. Nothing was deleted.');
    }
    const deleted = await limitTime('The journal', () => journal.prune({ before, unfollowed }), {
      timeout: PRUNE_TIMEOUT,
      advice: 'Records might have been deleted. Run the command again to delete the rest.',
    });
    const records = `${deleted.toLocaleString('en')} ${deleted === 1 ? 'record' : 'records'}`;
    await out.print(
      json ? toJsonLine({ deleted }) : `Deleted ${records}, created before ${formatTime(before)}.`,
    );
    return false;
  };
}

/** Returns when a day begins in UTC, in milliseconds since 1970. */
function parseDay(day: string): number {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) : Number.NaN;
  // JavaScript reads 31 February as a day of March.
  if (Number.isNaN(time) || !formatTime(time).startsWith(day))
    throw usageError(
      `prune needs --before with a day in UTC, such as --before 2025-11-01${day === '' ? '' : `, not "${day}"`}. Nothing was deleted.`,
    );
  if (time > Date.now())
    throw usageError(`--before ${day} is in the future. Give a day in the past. Nothing was deleted.`);
  return time;
}
