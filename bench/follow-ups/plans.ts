import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { buildPostgresStatements } from '../../src/stores/postgres/table.ts';
import { buildStatements } from '../../src/stores/sqlite/table.ts';
import type { StoreAddress } from './stores.ts';

/** How a database reads what a sweep asks for, as it says itself. */
export interface Plan {
  statement: string;
  /** The indexes, and each scan without one. */
  scans: string;
  /** Pages of 8 kB, and rows of tables and indexes; SQLite does not count them. */
  pages?: number;
  rows?: number;
}

/** Lets PostgreSQL run the two statements, and takes back what they change. */
export async function explainPostgres({ url, name }: StoreAddress, limit: number): Promise<Plan[]> {
  const statements = buildPostgresStatements(name);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const explain = async (statement: 'claimDue' | 'countDue', values: string[]): Promise<Plan> => {
    await client.query('BEGIN');
    const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statements[statement]}`;
    const { rows } = await client.query(text, values);
    await client.query('ROLLBACK');
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    const nodes: PlanNode[] = listNodes(plan);
    const scans = nodes.filter((node) => node['Relation Name'] && /Scan$/.test(node['Node Type']));
    return {
      statement: `PostgreSQL: ${statement}`,
      scans: listOnce(
        scans.map((node) => node['Index Name'] ?? `${node['Node Type']} of ${node['Relation Name']}`),
      ),
      pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      rows: scans.map(countRows).reduce((sum, count) => sum + count, 0),
    };
  };
  try {
    // The first value is the mark of a transaction, and the third the lease.
    const claim = ['', String(limit), '40000', 'key'];
    return [await explain('claimDue', claim), await explain('countDue', ['key'])];
  } finally {
    await client.end();
  }
}

/** What is read of one step of a plan of PostgreSQL. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

function listNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(listNodes)];
}

function countRows(node: PlanNode): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

const listOnce = (names: readonly string[]) => [...new Set(names)].join(', ');

/** Returns the plans of the statements that SQLite runs. */
export function explainSqlite({ url, name }: StoreAddress): Plan[] {
  using database = new DatabaseSync(url);
  const { selectDue, countDue } = buildStatements(name, (index) => `?${index}`);
  const explain = (statement: string, text: string): Plan => {
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
    const scans = rows
      .map(({ detail }) => String(detail))
      .filter((detail) => /^(?:SCAN|SEARCH) (?!CONSTANT|\()/.test(detail));
    const names = scans.map((detail) => / INDEX (?<index>\w+)/.exec(detail)?.groups?.index ?? detail);
    return { statement: `SQLite: ${statement}`, scans: listOnce(names) };
  };
  return [explain('claimDue', selectDue), explain('countDue', countDue)];
}
