import type { JournalWarning } from './journal.ts';
import type { Command } from './redis-store.ts';

/**
 * Returns the settings of Redis with which a record could be lost. A setting that cannot be read is not a warning: managed
 * services often forbid CONFIG.
 */
export async function durabilityWarnings(command: Command): Promise<JournalWarning[]> {
  const read = async (setting: string) => {
    const reply = await command('CONFIG', 'GET', setting).catch(() => undefined);
    const value = parseSetting(reply, setting);
    return value === undefined ? [] : [{ setting, value }];
  };
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map(read),
  );
  return [
    ...warnIf(
      appendonly,
      (value) => value !== 'yes',
      'any restart of Redis can lose the record of a charge',
      'yes',
    ),
    ...warnIf(
      // Without the append-only file it has no effect.
      appendonly?.some(({ value }) => value !== 'yes') ? [] : appendfsync,
      (value) => value !== 'always',
      'a crash of Redis or of the machine can lose the record of a charge',
      'always',
    ),
    // The other policies drop only keys with an expiry, which no record has.
    ...warnIf(
      policy,
      (value) => value.startsWith('allkeys-'),
      'Redis drops records when its memory is full',
      'noeviction',
    ),
  ];
}

interface Setting {
  readonly setting: string;
  readonly value: string;
}

function warnIf(
  settings: Setting[] | undefined,
  isInsufficient: (value: string) => boolean,
  loss: string,
  instead: string,
): JournalWarning[] {
  return (settings ?? [])
    .filter(({ value }) => isInsufficient(value))
    .map(({ setting, value }) => ({
      setting,
      value,
      message: `The journal's Redis has ${setting} ${value}: ${loss}, and a customer could be charged twice. Set ${setting} ${instead}.`,
    }));
}

/** Clients return a list of names and values, or a map of them. */
function parseSetting(reply: unknown, setting: string): string | undefined {
  const value = Array.isArray(reply)
    ? reply[reply.indexOf(setting) + 1]
    : reply instanceof Map
      ? reply.get(setting)
      : Object(reply)[setting];
  return typeof value === 'string' ? value : undefined;
}
