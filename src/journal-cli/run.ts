import { version } from '../version.ts';
import { type Command, parseCommand } from './arguments.ts';
import { type Config, loadConfig } from './config.ts';
import { countKeys } from './count.ts';
import { describeError, type ErrorText } from './describe-error.ts';
import { getHelp } from './help.ts';
import { limitTime } from './limit-time.ts';
import { listKeys } from './list.ts';
import { resolveKey } from './resolve.ts';
import { createScreen, type Screen, type Terminal } from './screen.ts';
import { showKey } from './show.ts';

/** The exit codes, by which a cron job tells what to do. */
const DONE = 0;
const FAILED = 1;
const HAS_UNRESOLVED = 3;

/** How long the config can take to close its connections, in milliseconds. The process ends in any case. */
const CLOSE_TIMEOUT = 5_000;

/** Runs `payment-journal` with these arguments, and returns its exit code. It never rejects. */
export async function runJournalCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const screen = createScreen(terminal);
  try {
    return await runCommand(parseCommand(args), terminal, screen);
  } catch (error) {
    await printError(describeError(error, screen.redact), screen);
    return FAILED;
  }
}

async function runCommand(command: Command, { folder }: Terminal, screen: Screen): Promise<number> {
  if (command.name === 'version') {
    await screen.print(version);
    return DONE;
  }
  if (command.name === 'help') {
    const { bold } = screen.style;
    await screen.print(...getHelp(command.about).map((line) => (isHeading(line) ? bold(line) : line)));
    return DONE;
  }
  const config = await loadConfig(command.config, folder, screen.redact);
  try {
    switch (command.name) {
      case 'list':
        return (await listKeys(config.journal, command, screen)) ? HAS_UNRESOLVED : DONE;
      case 'count':
        return (await countKeys(config.journal, command, screen)) ? HAS_UNRESOLVED : DONE;
      case 'show':
        await showKey(config.journal, command, screen);
        return DONE;
      case 'resolve':
        await resolveKey(config, command, screen);
        return DONE;
    }
  } catch (error) {
    await printError(describeError(error, screen.redact, command.name === 'resolve'), screen);
    return FAILED;
  } finally {
    await closeConfig(config, screen);
  }
}

/** A heading of the help begins at the margin and is no sentence. */
function isHeading(line: string): boolean {
  return /^[A-Z][^.:]*$/.test(line);
}

/** A connection that cannot be closed changes nothing about what was printed. */
async function closeConfig(config: Config, screen: Screen): Promise<void> {
  try {
    await limitTime('The close function of the config', () => config.close(), { timeout: CLOSE_TIMEOUT });
  } catch (error) {
    await printError(describeError(error, screen.redact), screen);
  }
}

async function printError({ message, advice }: ErrorText, { note, noteStyle }: Screen): Promise<void> {
  await note(`${noteStyle.red('payment-journal:')} ${message}`, ...(advice === undefined ? [] : [advice]));
}
