import { expect, test } from 'vitest';
import { transactionStatuses } from '../../../src/index.ts';
import { isFinal } from '../../../src/schedule.ts';
import { codeIn, readPage, rowsOf } from './tables.ts';

const rows = rowsOf(readPage('docs/guides/wait.md'));
const statusOf = ([cell = '']: readonly string[]) => codeIn(cell)[0] ?? '';

test('lists each status, and no other', () => {
  expect(rows.map(statusOf)).toEqual([...transactionStatuses, 'unrecognised']);
});

test('says which statuses are final by default, and that only success is paid', () => {
  for (const row of rows) {
    const [, final, paid] = row;
    expect(final).toBe(isFinal(statusOf(row)) ? 'yes' : 'no');
    expect(paid).toBe(statusOf(row) === 'success' ? '**yes**' : 'no');
  }
});
