import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { undiciTransport } from '../../src/node/index.ts';
import { printTable, ratio } from '../table.ts';
import { type Contender, openContenders } from './contenders.ts';
import { type Figures, leastOf, measure } from './measure.ts';

interface Row {
  name: string;
  figures: Figures | undefined;
}

const AT_ONCE = [1, 64];

/** Measures what a journal adds to a charge. */
export async function benchJournal(args: string[]): Promise<void> {
  const { rounds, charges, transport } = parseOptions(args);
  console.log(
    `Node ${process.version}, load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} CPUs. All in one process and in turns, against one service in another over loopback.\n` +
      `HTTP is through ${transport}. ${rounds} rounds of ${charges} charges each; a figure is the least of the rounds. CPU is the client's alone. PostgreSQL and SQLite wait for\n` +
      'the disk at each write, and so does Redis (appendfsync always); a charge with a journal is three writes. Each round\n' +
      'turns the order of the contenders round.',
  );
  await using closing = new AsyncDisposableStack();
  const service = fork(new URL('service.ts', import.meta.url), { execArgv: [] });
  closing.defer(() => {
    service.kill();
  });
  const [{ port }] = await once(service, 'message');
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  const contenders = await openContenders(closing);
  await using undici = undiciTransport({ connections: Math.max(...AT_ONCE) });
  const http = { baseUrl, transport: transport === 'undici' ? undici : undefined };
  for (const contender of contenders) await measure(contender, http, { count: 200, atOnce: 64 });
  for (const atOnce of AT_ONCE) {
    print(
      atOnce,
      await runInTurns(contenders, rounds, (each) => measure(each, http, { count: charges, atOnce })),
    );
  }
}

async function runInTurns(
  contenders: readonly Contender[],
  rounds: number,
  run: (contender: Contender) => Promise<Figures>,
): Promise<Row[]> {
  const rows: Row[] = contenders.map(({ name }) => ({ name, figures: undefined }));
  for (let round = 0; round < rounds; round++) {
    // What comes first in a round has another cache, and another checkpoint of the database.
    const turns = [...contenders.entries()];
    for (const [index, contender] of round % 2 === 0 ? turns : turns.reverse()) {
      const row = rows[index];
      if (row) row.figures = leastOf(row.figures, await run(contender));
    }
  }
  return rows;
}

function parseOptions(args: string[]): { rounds: number; charges: number; transport: string } {
  const options = {
    rounds: { type: 'string', default: '5' },
    charges: { type: 'string', default: '600' },
    transport: { type: 'string', default: 'fetch' },
  } as const;
  const { values } = parseArgs({ args, options });
  const [rounds, charges] = [Number(values.rounds), Number(values.charges)];
  const { transport } = values;
  const isKnown = ['fetch', 'undici'].includes(transport);
  if (isKnown && Number.isInteger(rounds) && rounds > 0 && Number.isInteger(charges) && charges >= 100)
    return { rounds, charges, transport };
  throw new Error(
    '--rounds must be a whole number, 1 or more, --charges one of 100 or more, and --transport fetch or undici.',
  );
}

function print(atOnce: number, rows: readonly Row[]): void {
  const without = rows[0]?.figures;
  const columns = (['mean', 'p50', 'p99', 'cpu'] as const).flatMap((figure) => [
    [figure === 'cpu' ? 'CPU us' : `${figure} us`, (row: Row) => row.figures?.[figure]] as const,
    ['to none', (row: Row) => ratio(row.figures?.[figure], without?.[figure])] as const,
  ]);
  const perSecond = (row: Row) => row.figures && Math.round(1_000_000 / row.figures.wall);
  const title = `A charge, ${atOnce === 1 ? 'one' : atOnce} at a time: wall time and CPU`;
  printTable(title, rows, [['journal', ({ name }) => name], ['charges/s', perSecond], ...columns]);
}
