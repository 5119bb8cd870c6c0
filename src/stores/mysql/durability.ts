import type { JournalWarning } from '../../journal/journal.ts';
import type { MysqlRow, MysqlRunner } from './connection.ts';

/**
 * Returns the settings of the server with which a record could be lost. The journal cannot set them: they hold for the
 * whole server. A setting that cannot be read is not a warning.
 */
export async function readMysqlWarnings(runner: MysqlRunner, engineQuery: string): Promise<JournalWarning[]> {
  const read = async (sql: string): Promise<MysqlRow> => {
    const [row] = await runner.read(sql).catch(() => []);
    return row ?? {};
  };
  const { flush, log_bin, sync_binlog } = await read(
    `SELECT @@GLOBAL.innodb_flush_log_at_trx_commit AS flush, @@GLOBAL.log_bin AS log_bin,
      @@GLOBAL.sync_binlog AS sync_binlog`,
  );
  const { engine } = await read(engineQuery);
  const warnings: JournalWarning[] = [];
  const warn = (setting: string, value: string, loss: string, instead: string) =>
    warnings.push({
      setting,
      value,
      message: `The journal's server has ${setting} ${value}: ${loss} can lose the record of a charge, and a customer could be charged twice. ${instead}`,
    });
  // With 3, MariaDB does more than with 1.
  if (flush && !['1', '3'].includes(flush)) {
    const loss = flush === '0' ? 'its crash' : 'a crash of the machine';
    warn('innodb_flush_log_at_trx_commit', flush, loss, 'Set it to 1.');
  }
  // After a crash, the server takes back what is not in its binary log.
  if (log_bin === '1' && sync_binlog && sync_binlog !== '1')
    warn('sync_binlog', sync_binlog, 'a crash of the machine', 'Set it to 1.');
  if (engine && engine.toLowerCase() !== 'innodb')
    warn('the table in ENGINE', engine, 'a crash', 'Use ENGINE InnoDB.');
  return warnings;
}
