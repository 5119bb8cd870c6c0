import { findNearestName } from '../../support/unknown-option.ts';
import { version } from '../../support/version.ts';
import { createScreen, type Screen, type Terminal } from '../../ui/screen.ts';
import { type Arguments, HELP, parseArguments, usageError } from './arguments.ts';
import { type Config, loadConfig, type Run } from './config.ts';
import { prepareCount } from './count.ts';
import { prepareDesk } from './desk.ts';
import { describeError, limitTime } from './errors.ts';
import { prepareList } from './list.ts';
import { preparePrune } from './prune.ts';
import { prepareResolve } from './resolve.ts';
import { prepareShow } from './show.ts';

const COMMANDS: Readonly<Record<string, (args: Arguments) => Run>> = {
  list: prepareList,
  show: prepareShow,
  resolve: prepareResolve,
  count: prepareCount,
  desk: prepareDesk,
  prune: preparePrune,
};
const COMMAND_NAMES = Object.keys(COMMANDS);

/** The exit codes, by which a cron job tells what to do. */
const DONE = 0;
const FAILED = 1;
const NEEDS_PERSON = 3;

/** How long the config can take to close its connections, in milliseconds. The process ends in any case. */
const CLOSE_TIMEOUT = 5_000;

/** Runs `payment-journal` with these arguments, and returns its exit code. It never rejects. */
export async function runJournalCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const screen = createScreen(terminal);
  try {
    const given = parseArguments(args);
    const { command, options } = given;
    if (options.version || options.help) {
      await screen.out.print(options.version ? version : HELP);
      return DONE;
    }
    const run = prepare(given);
    const config = await loadConfig(options.config, terminal.folder, screen.redact);
    try {
      return (await run(config, screen)) ? NEEDS_PERSON : DONE;
    } catch (error) {
      await printError(error, screen, command === 'resolve');
      return FAILED;
    } finally {
      await closeConfig(config, screen);
    }
  } catch (error) {
    await printError(error, screen);
    return FAILED;
  }
}

function prepare(args: Arguments): Run {
  const { command } = args;
  if (command === undefined) throw usageError(`Name a command: ${COMMAND_NAMES.join(', ')}.`);
  const found = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (found) return found(args);
  const nearest = findNearestName(command, COMMAND_NAMES);
  const advice = nearest ? `Did you mean ${nearest}?` : `There are: ${COMMAND_NAMES.join(', ')}.`;
  throw usageError(`Unknown command "${command.slice(0, 40)}". ${advice}`);
}

/** A connection that cannot be closed changes nothing about what was printed. */
async function closeConfig(config: Config, screen: Screen): Promise<void> {
  try {
    await limitTime('The close function of the config', () => config.close(), { timeout: CLOSE_TIMEOUT });
  } catch (error) {
    await printError(error, screen);
  }
}

async function printError(error: unknown, { err, redact }: Screen, canChange = false): Promise<void> {
  const [message = '', ...advice] = describeError(error, redact, canChange);
  await err.print(`${err.style('red', 'payment-journal:')} ${message}`, ...advice);
}
