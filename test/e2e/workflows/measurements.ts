import { appendFileSync } from 'node:fs';

/** What a scenario measured of an engine, in milliseconds and counts: a line of JSON for the table. */
export function note(engine: string, measured: Readonly<Record<string, number>>): void {
  const file = process.env.WORKFLOWS_MEASURED;
  if (file) appendFileSync(file, `${JSON.stringify({ engine, ...measured })}\n`);
}
