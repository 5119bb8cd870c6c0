import type { JournalWarning } from '../../journal/journal.ts';
import type { SendCommand } from './client.ts';

/**
 * Returns the settings of Redis with which a record could be lost. A setting that cannot be read is not a warning: managed
 * services often forbid CONFIG.
 */
export async function readRedisWarnings(command: SendCommand): Promise<JournalWarning[]> {
  const read = async (setting: string) =>
    parseSetting(await command('CONFIG', 'GET', setting).catch(() => undefined), setting);
  const [appendonly, appendfsync, policy] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map(read),
  );
  const warnings: JournalWarning[] = [];
  const warn = (setting: string, value: string, loss: string, instead: string) => {
    const message = `The journal's Redis has ${setting} ${value}: ${loss}, and a customer could be charged twice. Set ${setting} ${instead}.`;
    warnings.push({ setting, value, message });
  };
  if (appendonly !== undefined && appendonly !== 'yes')
    warn('appendonly', appendonly, 'any restart of Redis can lose the record of a charge', 'yes');
  // Without the append-only file it has no effect.
  else if (appendfsync !== undefined && appendfsync !== 'always') {
    const loss = 'a crash of Redis or of the machine can lose the record of a charge';
    warn('appendfsync', appendfsync, loss, 'always');
  }
  // The other policies drop only keys with an expiry, which no record has.
  if (policy?.startsWith('allkeys-'))
    warn('maxmemory-policy', policy, 'Redis drops records when its memory is full', 'noeviction');
  return warnings;
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
