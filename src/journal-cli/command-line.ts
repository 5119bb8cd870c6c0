import { quoteForShell } from './printable-text.ts';

/** How the command is typed in the folder where the package is installed: its name alone is not in the PATH. */
export const COMMAND = 'npx payment-journal';

/** Returns the words that name the config in a command, as it was given. */
export function nameConfig(config: string | undefined): string[] {
  return config === undefined ? [] : ['--config', quoteForShell(config)];
}
