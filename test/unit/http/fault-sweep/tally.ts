import type { Ending } from './truth.ts';

/** Counts how calls ended, by the place of the cut. */
export interface Tally {
  count(where: string, ending: Ending): void;
  print(title: string): void;
}

const endings: Ending[] = ['resolved', 'not_sent', 'rejected', 'unknown', 'read failure', 'untyped'];

export function createTally(): Tally {
  const rows = new Map<string, Map<Ending, number>>();
  return {
    count(where, ending) {
      const row = rows.get(where) ?? new Map<Ending, number>();
      rows.set(where, row.set(ending, (row.get(ending) ?? 0) + 1));
    },
    print(title) {
      const used = endings.filter((ending) => [...rows.values()].some((row) => row.has(ending)));
      const counts = [...rows].map(([where, row]) => [where, ...used.map((ending) => row.get(ending) ?? 0)]);
      const sums = used.map((ending) =>
        [...rows.values()].reduce((sum, row) => sum + (row.get(ending) ?? 0), 0),
      );
      const points = sums.reduce((sum, count) => sum + count, 0);
      const table = [['', ...used], ...counts, [`${points} points`, ...sums]];
      const lines = table.map(([where, ...cells]) =>
        [String(where).padEnd(36), ...cells.map((cell) => String(cell).padStart(13))].join(''),
      );
      console.log([title, ...lines].join('\n'));
    },
  };
}
